// The landing page: the cards of Alice and Bob, the rule, every step of a login, the state of the parts, and buttons that copy.
// Steps before and after the login are kept in the tab's session storage, because the login leaves this page.
import { createElement, describeError } from './elements.js';
import { beginLogin, callbackPath, finishLogin, LoginDeniedError } from './login-flow.js';
import { createPersonCard } from './person-card.js';
import { createRulePanel } from './rule-panel.js';

const steps = document.querySelector('#steps');
const result = document.querySelector('#result');
const { endpoint, call, admin: adminUrl } = document.body.dataset;
const storage = 'mcp-gatehouse-demo';
const peopleStorage = 'mcp-gatehouse-demo-people';

/** The logins of this tab, by user, and who logged in last. */
const people = JSON.parse(sessionStorage.getItem(peopleStorage) ?? '{"accounts":{}}');
let flow = JSON.parse(sessionStorage.getItem(storage) ?? '{"steps":[]}');

function saveFlow() {
  sessionStorage.setItem(storage, JSON.stringify(flow));
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
  showEnd();
}

/** Undefined: logged out. */
function saveAccount(user, account) {
  people.accounts[user] = account;
  sessionStorage.setItem(peopleStorage, JSON.stringify(people));
}

/** How it ended, in a sentence above the steps. */
function showEnd() {
  document.querySelector('#flow').hidden = flow.steps.length === 0;
  if (!flow.end) return;
  result.className = `result ${flow.end.kind}`;
  result.textContent = flow.end.text;
}

function setBusy(isBusy) {
  for (const card of cards.values()) card.setBusy(isBusy);
}

async function run(work) {
  setBusy(true);
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
  if (flow.end) setBusy(false);
}

function startFlow(user) {
  flow = { steps: [] };
  saveFlow();
  steps.replaceChildren();
  result.className = 'result';
  result.textContent = '';
  void run(async () => {
    const isOther = people.last !== undefined && people.last !== user;
    const { url, login } = await beginLogin(endpoint, { user, isOther }, tell);
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
  await run(async () => {
    const { account, sentence } = await finishLogin(endpoint, login, query, JSON.parse(call), tell);
    people.last = account.user;
    saveAccount(account.user, account);
    cards.get(account.user).open(account);
    return { kind: 'good', text: `It worked. ${sentence}` };
  });
  result.scrollIntoView({ block: 'center' });
  result.focus({ preventScroll: true });
}

let shownState;

/** Asks how the parts are, now and every few seconds while somebody looks. */
async function watchState() {
  const items = [...document.querySelectorAll('#parts li')];
  const { parts = [], variant } = await fetch('/demo/state.json').then(
    async (response) => (response.ok ? response.json() : {}),
    () => ({}),
  );
  if (variant !== undefined) void rulePanel.notice(variant);
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

const cards = new Map(
  [...document.querySelectorAll('.person')].map((section) => {
    const { user } = section.dataset;
    const card = createPersonCard(section, {
      endpoint,
      adminUrl,
      save: (account) => saveAccount(user, account),
      onLogin: () => startFlow(user),
      onListChanged: () => void rulePanel.refresh(),
    });
    return [user, card];
  }),
);
const rulePanel = createRulePanel(({ why }) => {
  for (const [user, card] of cards) card.explain(why[user] ?? '');
});

addEventListener('pagehide', () => {
  for (const card of cards.values()) card.close();
});
// Back from the login page with the browser's button: sessions were ended, and buttons are waiting.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
addCopyButtons();
for (const step of flow.steps) showStep(step);
showEnd();
void rulePanel.refresh();
void watchState();
for (const [user, account] of Object.entries(people.accounts)) cards.get(user)?.open(account);
if (location.pathname === callbackPath) await endFlow();
