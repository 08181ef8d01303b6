// The card of one person: the MCP session that stays open, the tools that the person sees, and a call of a tool that may be hidden.
import { createElement, describeError, setText } from './elements.js';
import { createAuthorization } from './login-flow.js';
import { createMcpClient, readText, UnauthorizedError } from './mcp-client.js';

const triedTool = 'support_ticket_close';
const retryMs = 1_000;

/**
 * Makes the card work. `save(account)` keeps the login for a reload (undefined: logged out), `onLogin()` begins a login, and `onListChanged()` hears
 * that the gateway has announced another list.
 */
export function createPersonCard(card, { endpoint, adminUrl, save, onLogin, onListChanged }) {
  const find = (selector) => card.querySelector(selector);
  const { name } = card.dataset;
  const logIn = find('.log-in');
  const tryButton = find('.try');
  let mcp;
  let tools;
  /** One list after the other: an older answer must not replace a newer one. */
  let listing = Promise.resolve();

  function showState(text, kind) {
    const state = find('.presence');
    state.className = `presence ${kind}`;
    setText(state, text);
  }

  function showTools(next) {
    const before = tools;
    tools = next.map((tool) => tool.name);
    const added = before ? tools.filter((each) => !before.includes(each)) : [];
    const removed = before ? before.filter((each) => !tools.includes(each)) : [];
    const items = next.map((tool) => {
      const item = createElement('li', '', createElement('code', '', tool.name), ' ');
      item.append(createElement('span', 'soft', tool.title ?? ''));
      if (added.includes(tool.name)) {
        item.classList.add('added');
        item.append(' ', createElement('span', 'badge', 'new'));
      }
      return item;
    });
    find('.tools').replaceChildren(...items);
    find('.count').replaceChildren(
      `${name} sees `,
      createElement('strong', '', `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`),
      ':',
    );
    setText(tryButton, tools.includes(triedTool) ? `Call ${triedTool}` : `Call ${triedTool} all the same`);
    return { added, removed };
  }

  function listTools() {
    const client = mcp;
    listing = listing
      .catch(() => {})
      .then(async () => {
        const { result } = await client.call('tools/list', {});
        return client === mcp ? showTools(result.tools) : { added: [], removed: [] };
      });
    return listing;
  }

  async function hear(message) {
    if (message.method !== 'notifications/tools/list_changed') return;
    const { added, removed } = await listTools();
    // The last call was judged by other rules.
    if (added.length + removed.length > 0) find('.call').replaceChildren();
    const news = [
      ...added.map((tool) => `${tool} is new`),
      ...removed.map((tool) => `${tool} is gone`),
      ...(added.length + removed.length === 0 ? [`nothing changes for ${name}`] : []),
    ];
    setText(find('.live'), `tools/list_changed arrived at ${new Date().toLocaleTimeString()}: ${news.join(', ')}.`);
    onListChanged();
  }

  /** Holds a session open until the person logs out or the login is over. */
  async function hold(account) {
    const authorization = createAuthorization(account, () => save(account));
    const isCurrent = () => account === current;
    while (isCurrent()) {
      mcp = createMcpClient(endpoint, authorization);
      try {
        await mcp.initialize();
        const { messages } = await mcp.openStream();
        await listTools();
        showState('logged in', 'good');
        for await (const message of messages) await hear(message);
      } catch (error) {
        if (!isCurrent()) return;
        if (error instanceof UnauthorizedError) {
          logOut();
          showState('the login is over', 'bad');
          return;
        }
        showState('not connected', 'bad');
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  let current;

  function open(account) {
    close();
    current = account;
    tools = undefined;
    find('.login').hidden = true;
    find('.session').hidden = false;
    find('.call').replaceChildren();
    setText(find('.live'), '');
    void hold(account);
  }

  /** Ends the session; the login stays known for a reload. */
  function close() {
    if (current === undefined) return;
    current = undefined;
    mcp?.end().catch(() => {});
    mcp = undefined;
  }

  function logOut() {
    close();
    save(undefined);
    showState('', '');
    find('.session').hidden = true;
    find('.login').hidden = false;
  }

  async function tryTool() {
    tryButton.disabled = true;
    const box = find('.call');
    try {
      const { result } = await mcp.call('tools/call', { name: 'support_ticket_list', arguments: { status: 'open' } });
      const id = result.structuredContent?.tickets?.[0]?.id ?? 'T-101';
      const request = { name: triedTool, arguments: { id, resolution: `Done by ${name}.` } };
      const answer = await mcp.ask('tools/call', request);
      const reason = await readReason(answer.requestId);
      box.replaceChildren(...describeCall({ name, request, answer, reason, adminUrl }));
    } catch (error) {
      box.replaceChildren(createElement('p', 'bad', `This did not work. ${describeError(error)}`));
    }
    tryButton.disabled = false;
  }

  logIn.addEventListener('click', onLogin);
  tryButton.addEventListener('click', () => void tryTool());
  find('.log-out').addEventListener('click', () => {
    logOut();
    logIn.focus();
  });
  return {
    open,
    close,
    /** Says why the person sees these tools. */
    explain: (why) => setText(find('.why'), why),
    setBusy: (isBusy) => (logIn.disabled = isBusy),
  };
}

/** What the gateway noted about a request. It does so when the request has ended, a moment after the answer. */
async function readReason(requestId) {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    const response = await fetch(`/demo/reason.json?id=${encodeURIComponent(requestId)}`);
    const answer = await response.json();
    if (response.ok) return answer;
    if (response.status !== 404) return { problem: answer.problem };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { problem: 'The gateway has not noted this request.' };
}

function describeRule(rule) {
  return rule ? `allowed by rule ${rule.index + 1}: ${rule.expression}` : 'allowed';
}

function describeCall({ name, request, answer, reason, adminUrl }) {
  const isDenied = answer.error !== undefined || reason.reason === 'item_hidden';
  const received = answer.error ? `${answer.error.code} ${answer.error.message}` : readText(answer.result);
  const { id } = request.arguments;
  const noted = reason.problem ?? (isDenied ? `${reason.reason}: ${reason.detail}` : describeRule(reason.rule));
  const link = createElement('a', '', 'This request in the admin pages');
  link.href = `${adminUrl}/requests/${answer.requestId}`;
  const command = createElement(
    'pre',
    '',
    createElement('code', '', `npx mcp-gatehouse explain --request-id ${answer.requestId} --admin ${adminUrl}`),
  );
  command.tabIndex = 0;
  const row = (title, ...content) => [createElement('dt', '', title), createElement('dd', '', ...content)];
  return [
    createElement(
      'p',
      isDenied ? 'verdict bad' : 'verdict good',
      isDenied
        ? `Denied: ${name} called ${request.name} for ${id}.`
        : `Allowed: ${name} called ${request.name} for ${id}.`,
    ),
    createElement(
      'dl',
      '',
      ...row(`${name} is told`, createElement('code', 'received', received)),
      ...row('The operator reads', createElement('code', 'noted', noted)),
    ),
    createElement('p', '', link, '. In a terminal:'),
    command,
  ];
}
