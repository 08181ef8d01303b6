// The landing page's "Try it": a real MCP conversation through the gateway, shown step by step.
const button = document.querySelector('#try');
const steps = document.querySelector('#steps');
const endpoint = document.body.dataset.endpoint;

function addStep(title) {
  const item = document.createElement('li');
  const heading = document.createElement('strong');
  heading.textContent = title;
  item.append(heading);
  steps.append(item);
  return {
    show(value) {
      const block = document.createElement('pre');
      block.tabIndex = 0;
      block.textContent = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
      item.append(block);
    },
    fail(text) {
      const line = document.createElement('p');
      line.className = 'failed';
      line.textContent = text;
      item.append(line);
    },
  };
}

/** The JSON-RPC answer with this id, from a JSON body or from an event stream. */
async function readAnswer(response, id) {
  if ((response.headers.get('content-type') ?? '').startsWith('application/json')) return response.json();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the stream ended without an answer');
    text += value;
    const events = text.split(/\r?\n\r?\n/);
    text = events.pop();
    for (const event of events) {
      const data = event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n');
      if (data === '') continue;
      const message = JSON.parse(data);
      if (message.id === id) {
        await reader.cancel();
        return message;
      }
    }
  }
}

async function converse() {
  let session;
  let version;
  let nextId = 0;
  const send = async (method, params, { notification = false } = {}) => {
    const id = notification ? undefined : ++nextId;
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    if (session) headers['mcp-session-id'] = session;
    if (version) headers['mcp-protocol-version'] = version;
    const response = await fetch(endpoint, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    session = response.headers.get('mcp-session-id') ?? session;
    if (notification) return undefined;
    const answer = await readAnswer(response, id);
    if (answer.error) throw new Error(`${answer.error.code} ${answer.error.message}`);
    return answer.result;
  };

  let step = addStep(`POST ${endpoint}: initialize`);
  try {
    const hello = await send('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'demo-page', version: '1.0.0' },
    });
    version = hello.protocolVersion;
    step.show(hello.serverInfo);
    await send('notifications/initialized', undefined, { notification: true });

    step = addStep('tools/list');
    const { tools } = await send('tools/list', {});
    step.show(tools.map((tool) => `${tool.name}: ${tool.description ?? ''}`).join('\n'));

    const example = JSON.parse(document.body.dataset.call);
    step = addStep(`tools/call ${example.name}`);
    step.show(await send('tools/call', example));

    step = addStep('DELETE: end of the session');
    const ended = await fetch(endpoint, {
      method: 'DELETE',
      headers: { 'mcp-session-id': session, 'mcp-protocol-version': version },
    });
    step.show(`${ended.status}`);
  } catch (error) {
    step.fail(`Failed: ${error.message}`);
  }
}

button.addEventListener('click', async () => {
  button.disabled = true;
  steps.replaceChildren();
  await converse();
  button.disabled = false;
});

async function showState() {
  const list = document.querySelector('#parts');
  const { parts } = await (await fetch('demo/state.json')).json();
  list.replaceChildren(
    ...parts.map((part) => {
      const item = document.createElement('li');
      const name = document.createElement('strong');
      name.textContent = part.name;
      const state = document.createElement('span');
      state.className = `state ${part.ok ? 'good' : 'bad'}`;
      state.textContent = part.ok ? 'running' : 'not reachable';
      const detail = document.createElement('span');
      detail.className = 'detail';
      detail.textContent = part.detail;
      item.append(name, state, detail);
      return item;
    }),
  );
}
await showState();
