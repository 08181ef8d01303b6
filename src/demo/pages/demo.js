// The landing page: the state of the parts, "Try it" with every step of the login, and buttons that copy.
// Steps before and after the login are kept in the tab's session storage, because the login leaves this page.
import { beginLogin, callbackPath, finishLogin, LoginDeniedError } from './login-flow.js';

const button = document.querySelector('#try');
const steps = document.querySelector('#steps');
const result = document.querySelector('#result');
const inspectorLine = document.querySelector('#inspect');
const { endpoint, call } = document.body.dataset;
const storage = 'mcp-gatehouse-demo';

let flow = JSON.parse(sessionStorage.getItem(storage) ?? '{"steps":[]}');

function saveFlow() {
  sessionStorage.setItem(storage, JSON.stringify(flow));
}

function createElement(name, className, ...content) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...content);
  return element;
}

function showStep({ title, spec, request, note, detail }) {
  const heading = createElement('p', 'title', createElement('strong', '', title));
  if (spec) heading.append(' ', createElement('span', 'spec', spec));
  const item = createElement('li', '', heading);
  if (request) item.append(createElement('p', 'request', createElement('code', '', request)));
  if (note) item.append(createElement('p', 'soft', note));
  if (detail) {
    const block = createElement('pre', '', typeof detail === 'string' ? detail : JSON.stringify(detail, null, 2));
    block.tabIndex = 0;
    item.append(createElement('details', '', createElement('summary', '', 'Details'), block));
  }
  steps.append(item);
}

function tell(step) {
  flow.steps.push(step);
  saveFlow();
  showStep(step);
}

/** How it ended, in a sentence above the steps. */
function showEnd() {
  inspectorLine.hidden = flow.steps.length === 0;
  if (!flow.end) return;
  result.className = `result ${flow.end.kind}`;
  result.textContent = flow.end.text;
}

function describeError(error) {
  // fetch throws this when no server answers; every browser words it differently.
  if (error instanceof TypeError) return `The gateway did not answer (${error.message}). Is the demo still running?`;
  return error.message;
}

async function run(work) {
  button.disabled = true;
  try {
    flow.end = await work();
  } catch (error) {
    flow.end =
      error instanceof LoginDeniedError
        ? { kind: 'denied', text: error.message }
        : { kind: 'bad', text: `This did not work. ${describeError(error)}` };
  }
  saveFlow();
  showEnd();
  // While the browser is on its way to the login page, a second click would begin a second login.
  if (flow.end) button.disabled = false;
}

function startFlow() {
  flow = { steps: [] };
  saveFlow();
  steps.replaceChildren();
  result.className = 'result';
  result.textContent = '';
  void run(async () => {
    const { url, login } = await beginLogin(endpoint, tell);
    flow.login = login;
    saveFlow();
    location.assign(url);
  });
}

async function endFlow() {
  const query = new URLSearchParams(location.search);
  // The code must not stay in the address bar, whatever comes of it.
  history.replaceState(null, '', '/');
  const { login } = flow;
  delete flow.login;
  saveFlow();
  await run(async () => ({
    kind: 'good',
    text: `It worked. ${await finishLogin(endpoint, login, query, JSON.parse(call), tell)}`,
  }));
  result.scrollIntoView({ block: 'center' });
  result.focus({ preventScroll: true });
}

let shownState;

/** Asks how the parts are, now and every few seconds while somebody looks. */
async function watchState() {
  const items = [...document.querySelectorAll('#parts li')];
  const parts = await fetch('/demo/state.json').then(
    async (response) => (response.ok ? (await response.json()).parts : []),
    () => [],
  );
  const state = items.map((_, index) => parts[index]?.ok === true);
  if (String(state) !== String(shownState)) {
    shownState = state;
    items.forEach((item, index) => {
      const label = item.querySelector('.state');
      label.className = `state ${state[index] ? 'good' : 'bad'}`;
      label.textContent = state[index] ? 'running' : 'not reachable';
    });
  }
  setTimeout(() => (document.hidden ? waitUntilVisible() : void watchState()), 5_000);
}

function waitUntilVisible() {
  document.addEventListener('visibilitychange', () => void watchState(), { once: true });
}

function addCopyButtons() {
  for (const block of document.querySelectorAll('.copy')) {
    const copy = createElement('button', 'small', 'Copy');
    copy.type = 'button';
    copy.setAttribute('aria-label', `Copy the lines for ${block.dataset.name}`);
    copy.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector('code').textContent);
        copy.textContent = 'Copied';
      } catch {
        // Some browsers do not let pages do that; the text is there to be selected.
        getSelection().selectAllChildren(block.querySelector('code'));
        copy.textContent = 'Selected';
      }
      setTimeout(() => (copy.textContent = 'Copy'), 2_000);
    });
    block.append(copy);
  }
}

button.addEventListener('click', startFlow);
// Back from the login page with the browser's button: the page is as it was left.
addEventListener('pageshow', (event) => {
  if (event.persisted) button.disabled = false;
});
addCopyButtons();
for (const step of flow.steps) showStep(step);
showEnd();
void watchState();
if (location.pathname === callbackPath) await endFlow();
