// An MCP client over Streamable HTTP, as small as it gets: requests with answers as JSON or as an event stream, and the stream of notifications.

/** The token is not accepted, and no new one could be had. */
export class UnauthorizedError extends Error {}

/** The messages of an event stream, one after the other. */
async function* readMessages(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const events = text.split(/\r?\n\r?\n/);
      text = events.pop();
      for (const event of events) {
        const data = event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n');
        if (data !== '') yield JSON.parse(data);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The JSON-RPC answer with this id, from a JSON body or from an event stream. */
async function readAnswer(response, id) {
  if ((response.headers.get('content-type') ?? '').startsWith('application/json')) return response.json();
  // The server ends the stream after the answer, but need not.
  for await (const message of readMessages(response)) if (message.id === id) return message;
  throw new Error('The stream ended without an answer.');
}

/** The text of a tool's result. */
export function readText(result) {
  return result?.content?.find((part) => part.type === 'text')?.text ?? '';
}

/**
 * A client for the MCP endpoint. `authorization` is left out for the first, refused request; else it has the `token`, and `renew`, which gets a new one
 * and returns false if that is not possible.
 */
export function createMcpClient(endpoint, authorization) {
  let session;
  let version;
  let nextId = 0;
  const aborter = new AbortController();
  const describeHeaders = () => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(authorization ? { authorization: `Bearer ${authorization.token}` } : {}),
    ...(session ? { 'mcp-session-id': session } : {}),
    ...(version ? { 'mcp-protocol-version': version } : {}),
  });
  const send = async (options) => {
    const attempt = () => fetch(endpoint, { ...options, headers: describeHeaders(), signal: aborter.signal });
    const response = await attempt();
    if (response.status !== 401 || !authorization) return response;
    if (!(await authorization.renew())) throw new UnauthorizedError('The login is not valid any more.');
    return attempt();
  };
  const post = (message) => send({ method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  /** The answer, whatever it is: `result` or `error`. */
  const ask = async (method, params) => {
    const id = ++nextId;
    const response = await post({ id, method, params });
    const requestId = response.headers.get('x-request-id');
    const { status } = response;
    if (!response.ok) return { status, requestId, error: { code: status, message: await response.text() } };
    session = response.headers.get('mcp-session-id') ?? session;
    const { result, error } = await readAnswer(response, id);
    return { status, requestId, result, error };
  };
  /** The answer, which has to be a result. */
  const call = async (method, params) => {
    const answer = await ask(method, params);
    if (answer.error) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return answer;
  };
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'demo-page', version: '1.0.0' },
  };
  return {
    ask,
    call,
    /** The first request as it is, whatever the answer. */
    tryInitialize: () => post({ id: ++nextId, method: 'initialize', params }),
    async initialize() {
      const answer = await call('initialize', params);
      version = answer.result.protocolVersion;
      await (await post({ method: 'notifications/initialized' })).text();
      return answer;
    },
    /** Opens the stream on which the server, and the gateway for it, send notifications. */
    async openStream() {
      const response = await send({ method: 'GET' });
      if (!response.ok) throw new Error(`GET: ${response.status} ${await response.text()}`);
      return { status: response.status, messages: readMessages(response) };
    },
    /** Ends the session, also while the page goes away. Returns the status. */
    async end() {
      aborter.abort();
      const response = await fetch(endpoint, { method: 'DELETE', headers: describeHeaders(), keepalive: true });
      await response.text();
      return response.status;
    },
  };
}
