// An MCP client over Streamable HTTP, as small as it gets: one request at a time, answers as JSON or as an event stream.

/** The JSON-RPC answer with this id, from a JSON body or from an event stream. */
async function readAnswer(response, id) {
  if ((response.headers.get('content-type') ?? '').startsWith('application/json')) return response.json();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let answer;
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
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
      if (message.id === id) answer = message;
    }
    // The server ends the stream after the answer, but need not.
    if (answer !== undefined) {
      await reader.cancel();
      break;
    }
  }
  if (answer === undefined) throw new Error('The stream ended without an answer.');
  return answer;
}

/** A client for the MCP endpoint. `token` is left out of the first, refused request. */
export function createMcpClient(endpoint, token) {
  let session;
  let version;
  let nextId = 0;
  const describeHeaders = () => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(session ? { 'mcp-session-id': session } : {}),
    ...(version ? { 'mcp-protocol-version': version } : {}),
  });
  const post = (message) =>
    fetch(endpoint, {
      method: 'POST',
      headers: describeHeaders(),
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const call = async (method, params) => {
    const id = ++nextId;
    const response = await post({ id, method, params });
    if (!response.ok) throw new Error(`${method}: ${response.status} ${await response.text()}`);
    session = response.headers.get('mcp-session-id') ?? session;
    const answer = await readAnswer(response, id);
    if (answer.error) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return { status: response.status, result: answer.result };
  };
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'demo-page', version: '1.0.0' },
  };
  return {
    call,
    /** The first request as it is, whatever the answer. */
    tryInitialize: () => post({ id: ++nextId, method: 'initialize', params }),
    async initialize() {
      const answer = await call('initialize', params);
      version = answer.result.protocolVersion;
      await (await post({ method: 'notifications/initialized' })).text();
      return answer;
    },
    async end() {
      const response = await fetch(endpoint, { method: 'DELETE', headers: describeHeaders() });
      await response.text();
      return response.status;
    },
  };
}
