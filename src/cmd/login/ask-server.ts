// JSON-RPC over Streamable HTTP, as much of it as `login` needs: initialize and tools/list, answered as JSON or as an event stream.
import type { Narrator } from './narration.ts';
import { type Answer, fetchTold, readJsonObject, type FetchResult } from './told-fetch.ts';

/** The newest revision whose servers all know `initialize`. */
const protocolVersion = '2025-11-25';

/** A connection to the MCP server: what its answers said to send from then on. */
export interface McpSession {
  readonly url: string;
  readonly accessToken: string | undefined;
  sessionId: string | undefined;
  version: string | undefined;
}

/** The initialize request. */
export function initialize(narrator: Narrator, session: McpSession): Promise<FetchResult> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'mcp-gatehouse login', version: '1' } };
  return call(narrator, session, 'initialize', params);
}

/** Sends a request, or with no id expected back a notification. */
export function call(
  narrator: Narrator,
  session: McpSession,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<FetchResult> {
  const isNotification = method.startsWith('notifications/');
  return fetchTold(narrator, session.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headersOf(session),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...(!isNotification && { id: 1 }), method, params }),
    note: `${method}, ${session.accessToken === undefined ? 'no token' : 'with the token'}`,
    isComplete: (text) => /^event:|^data:|^id:|^:/m.test(text) && readEventResponse(text) !== undefined,
  });
}

/** Ends the session at the server, when there is one. */
export async function endSession(narrator: Narrator, session: McpSession): Promise<void> {
  if (session.sessionId === undefined) return;
  await fetchTold(narrator, session.url, { method: 'DELETE', headers: headersOf(session), note: 'ends the session' });
}

function headersOf({ accessToken, sessionId, version }: McpSession): Record<string, string> {
  return {
    ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
    ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    ...(version !== undefined && { 'mcp-protocol-version': version }),
  };
}

/** What a JSON-RPC request came to. */
type RpcResult =
  | { readonly ok: true; readonly result: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: string };

/** Reads the response from a JSON body or an event stream. */
export function readRpcResult({ text, headers }: Answer): RpcResult {
  const isStream = (headers.get('content-type') ?? '').startsWith('text/event-stream');
  const message = isStream ? readEventResponse(text) : readJsonObject(text);
  if (message === undefined) return { ok: false, problem: 'the answer is not JSON-RPC' };
  const error: unknown = message['error'];
  if (typeof error === 'object' && error !== null) {
    const { code, message: said } = error as { readonly code?: unknown; readonly message?: unknown };
    return { ok: false, problem: `JSON-RPC error ${String(code)}: ${typeof said === 'string' ? said : ''}` };
  }
  const result: unknown = message['result'];
  return typeof result === 'object' && result !== null
    ? { ok: true, result: result as Record<string, unknown> }
    : { ok: false, problem: 'the answer has neither a result nor an error' };
}

/** The first event that is a response: servers may send notifications before it. */
function readEventResponse(text: string): Readonly<Record<string, unknown>> | undefined {
  for (const event of text.split(/\r?\n\r?\n/)) {
    const data = event
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).replace(/^ /, ''))
      .join('\n');
    const message = data === '' ? undefined : readJsonObject(data);
    if (message !== undefined && ('result' in message || 'error' in message)) return message;
  }
  return undefined;
}
