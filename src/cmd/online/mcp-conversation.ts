// What `check --online` says to an MCP server: hello, what it lists, and goodbye. It calls no tool. Transports: Streamable HTTP, and the older HTTP+SSE.
import { isJsonObject, readJsonObject, type JsonObject } from '../../base/json-object.ts';
import { callServer, openStream, readHost, type ServerAddress, type ServerAnswer } from './call-server.ts';

/** What a server said about itself. */
export interface Hello {
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string;
  /** Those that it offers, of those that were asked for. */
  readonly lists: readonly ListedItems[];
}

/** What was asked for: `tools`, or everything that there are lists of. */
export type ListScope = 'tools' | 'all';

const listed = [
  { kind: 'tools', capability: 'tools', method: 'tools/list', name: 'name' },
  { kind: 'prompts', capability: 'prompts', method: 'prompts/list', name: 'name' },
  { kind: 'resources', capability: 'resources', method: 'resources/list', name: 'uri' },
  { kind: 'resourceTemplates', capability: 'resources', method: 'resources/templates/list', name: 'uriTemplate' },
] as const;

/** One list of a server. */
export interface ListedItems {
  readonly kind: (typeof listed)[number]['kind'];
  readonly method: string;
  readonly count: number;
  /** Names, URIs or templates. */
  readonly names: readonly string[];
  /** There are more pages. */
  readonly isCut: boolean;
  /** Why it could not be read. */
  readonly problem: string | undefined;
}

/** A conversation that came to its end, or the answer that ended it. */
export type Conversation =
  | { readonly ok: true; readonly hello: Hello }
  | { readonly ok: false; readonly answer: ServerAnswer; readonly problem: string };

/** Those that know `initialize`, the newest first: what a server does not accept is asked again with the next one, as clients do. */
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
/** The first version without `initialize` and without sessions. */
const modernVersion = '2026-07-28';
const clientInfo = { name: 'mcp-gatehouse check', version: '1' };
const maxPages = 20;
/** All lists together. */
const listsMs = 30_000;

type RpcAnswer =
  | { readonly ok: true; readonly result: JsonObject; readonly answer: ServerAnswer }
  | { readonly ok: false; readonly problem: string; readonly isRpcError: boolean; readonly answer: ServerAnswer };

type Ask = (method: string, params: JsonObject) => Promise<RpcAnswer>;

/** Talks Streamable HTTP at a path. */
export async function talkStreamable(address: ServerAddress, path: string, scope: ListScope): Promise<Conversation> {
  let headers: Record<string, string> = {};
  const send = (message: JsonObject, more: Record<string, string> = {}): Promise<ServerAnswer> =>
    callServer(address, {
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
        ...more,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      isComplete: (text) => findEventResponse(text) !== undefined,
    });
  const ask: Ask = async (method, params) => readRpc(await send({ id: 1, method, params }));

  let asked: RpcAnswer | undefined;
  for (const protocolVersion of versions) {
    asked = await ask('initialize', { protocolVersion, capabilities: {}, clientInfo });
    if (asked.ok || !mindsVersion(asked)) break;
  }
  if (asked?.ok === true) {
    const { result, answer } = asked;
    const session = answer.ok ? answer.headers['mcp-session-id'] : undefined;
    const protocolVersion = readText(result['protocolVersion']);
    headers = {
      ...(typeof session === 'string' && { 'mcp-session-id': session }),
      ...(protocolVersion !== '' && { 'mcp-protocol-version': protocolVersion }),
    };
    try {
      await send({ method: 'notifications/initialized' });
      return { ok: true, hello: await describe(result, protocolVersion, ask, scope) };
    } finally {
      if (typeof session === 'string') await callServer(address, { method: 'DELETE', path, headers });
    }
  }
  if (asked?.isRpcError === true || (asked?.answer.ok === true && asked.answer.status === 400)) {
    const modern = await talkModern(send, scope);
    if (modern !== undefined) return modern;
  }
  return { ok: false, answer: asked!.answer, problem: asked!.problem };
}

/** Asks a server that knows no `initialize`. Undefined: it is no such server. */
async function talkModern(
  send: (message: JsonObject, headers: Record<string, string>) => Promise<ServerAnswer>,
  scope: ListScope,
): Promise<Conversation | undefined> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': modernVersion,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const ask: Ask = async (method, params) =>
    readRpc(
      await send(
        { id: 1, method, params: { ...params, _meta: meta } },
        { 'mcp-protocol-version': modernVersion, 'mcp-method': method },
      ),
    );
  const found = await ask('server/discover', {});
  return found.ok ? { ok: true, hello: await describe(found.result, modernVersion, ask, scope) } : undefined;
}

/** Talks the older HTTP+SSE at a path: the answers come on the stream that a GET opens. */
export async function talkSse(address: ServerAddress, path: string, scope: ListScope): Promise<Conversation> {
  const opened = await openStream(address, path);
  if ('answer' in opened) return { ok: false, answer: opened.answer, problem: 'the answer is no event stream' };
  const { stream } = opened;
  const noAnswer: ServerAnswer = { ok: false, cause: 'timeout', detail: 'the event stream brought no answer' };
  try {
    const announced = await stream.wait(readEndpointEvent);
    const target = announced === undefined ? undefined : resolvePath(announced, path, readHost(address));
    if (target === undefined) {
      const detail =
        announced === undefined
          ? 'the event stream has no endpoint event'
          : `the event stream announces the endpoint ${announced}, which is at another host`;
      return { ok: false, answer: { ok: false, cause: 'other', detail }, problem: detail };
    }
    let id = 0;
    const send = (message: JsonObject): Promise<ServerAnswer> =>
      callServer(address, {
        method: 'POST',
        path: target,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
    const ask: Ask = async (method, params) => {
      id += 1;
      const mine = id;
      const sent = await send({ id: mine, method, params });
      if (!sent.ok || sent.status >= 300) return readRpc(sent);
      const message = await stream.wait((text) => findEventResponse(text, mine));
      return message === undefined
        ? { ok: false, problem: noAnswer.ok ? '' : noAnswer.detail, isRpcError: false, answer: noAnswer }
        : readMessage(message, sent);
    };
    const asked = await ask('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo });
    if (!asked.ok) return { ok: false, answer: asked.answer, problem: asked.problem };
    await send({ method: 'notifications/initialized' });
    return { ok: true, hello: await describe(asked.result, readText(asked.result['protocolVersion']), ask, scope) };
  } finally {
    // The session ends with its stream.
    stream.close();
  }
}

async function describe(result: JsonObject, protocolVersion: string, ask: Ask, scope: ListScope): Promise<Hello> {
  const { serverInfo: info, capabilities } = result;
  const { name, version } = isJsonObject(info) ? info : {};
  const until = performance.now() + listsMs;
  const lists: ListedItems[] = [];
  for (const each of listed) {
    const isOffered = isJsonObject(capabilities) && capabilities[each.capability] !== undefined;
    if (isOffered && (scope === 'all' || each.kind === scope)) lists.push(await readList(each, ask, until));
  }
  return { name: readText(name), version: readText(version), protocolVersion, lists };
}

async function readList(
  { kind, method, name }: (typeof listed)[number],
  ask: Ask,
  until: number,
): Promise<ListedItems> {
  let count = 0;
  const names: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const base = { kind, method, count, names, isCut: false };
    if (performance.now() > until) return { ...base, problem: `its lists take longer than ${listsMs / 1_000} s` };
    const answer = await ask(method, cursor === undefined ? {} : { cursor });
    if (!answer.ok) return { ...base, problem: answer.problem };
    const { [kind]: items, nextCursor } = answer.result;
    if (!Array.isArray(items)) return { ...base, problem: `the answer has no ${kind}` };
    count += items.length;
    for (const item of items as unknown[]) {
      const own = isJsonObject(item) ? item[name] : undefined;
      if (typeof own === 'string') names.push(own);
    }
    cursor = typeof nextCursor === 'string' ? nextCursor : undefined;
    if (cursor === undefined) break;
  }
  return { kind, method, count, names, isCut: cursor !== undefined, problem: undefined };
}

/** A refusal that an older version may not meet. */
function mindsVersion({ ok, problem, isRpcError }: { ok: boolean; problem?: string; isRpcError?: boolean }): boolean {
  return !ok && isRpcError === true && /version/i.test(problem ?? '');
}

function readRpc(answer: ServerAnswer): RpcAnswer {
  if (!answer.ok) return { ok: false, problem: answer.detail, isRpcError: false, answer };
  const message = answer.contentType === 'text/event-stream' ? findEventResponse(answer.text) : readObject(answer.text);
  if (message === undefined || (answer.status >= 300 && message['error'] === undefined))
    return { ok: false, problem: 'the answer is not JSON-RPC', isRpcError: false, answer };
  return readMessage(message, answer);
}

function readMessage({ error, result }: JsonObject, answer: ServerAnswer): RpcAnswer {
  if (isJsonObject(error)) {
    const problem = `JSON-RPC error ${String(error['code'])}: ${readText(error['message'])}`;
    return { ok: false, problem, isRpcError: true, answer };
  }
  return isJsonObject(result)
    ? { ok: true, result, answer }
    : { ok: false, problem: 'the answer has neither a result nor an error', isRpcError: false, answer };
}

/** The first response among events, or the one with this id: servers may send notifications before it. */
function findEventResponse(text: string, id?: number): JsonObject | undefined {
  for (const { data } of readEvents(text)) {
    const message = readObject(data);
    const isResponse = message !== undefined && ('result' in message || 'error' in message);
    if (isResponse && (id === undefined || message['id'] === id)) return message;
  }
  return undefined;
}

function readEndpointEvent(text: string): string | undefined {
  return readEvents(text)
    .find(({ event }) => event === 'endpoint')
    ?.data.trim();
}

/** Complete events only: what follows the last empty line is still being written. */
function readEvents(text: string): { readonly event: string; readonly data: string }[] {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n').slice(0, -1);
  return blocks.map((block) => {
    const read = (field: string): string[] =>
      block
        .split('\n')
        .filter((line) => line.startsWith(`${field}:`))
        .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
    return { event: read('event').at(-1) ?? 'message', data: read('data').join('\n') };
  });
}

/** Path and query of an announced URL of the same server; the gateway follows no other. */
function resolvePath(announced: string, path: string, host: string): string | undefined {
  const base = new URL(path, `http://${host}`);
  const url = URL.parse(announced, base);
  return url === null || url.host !== base.host ? undefined : `${url.pathname}${url.search}`;
}

function readObject(text: string): JsonObject | undefined {
  const read = readJsonObject(text);
  return read.ok && isJsonObject(read.value) ? read.value : undefined;
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
