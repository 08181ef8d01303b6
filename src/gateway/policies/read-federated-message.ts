// Several MCP servers behind one endpoint: which of them a request concerns is in its message, so the message is read before anything is sent. Where rules over
// messages have read it, theirs is used. Where there are no rules, calls by the servers' own names get the prefixed ones here. A body that cannot be read gets the answers that it gets from rules.
import type { RawHeaders } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';
import { exposeToScripts } from '../authentication/browser-access.ts';
import { formatRpcError } from '../mcp/answer/rpc-error.ts';
import type { KnownKeys } from '../config/mcp-authorization-config.ts';
import type { MessageId } from '../mcp/read/message.ts';
import { listBareCalls, renameCalls } from '../mcp/names/bare-calls.ts';
import { readVersionHeader } from '../mcp/read/protocol-version.ts';
import { findUnreadableForm, type MessageBody, readMessageBody } from '../mcp/read/read-message-body.ts';
import { readItems } from '../mcp/read/read-item.ts';
import { readMessages, severalVersions } from '../mcp/read/read-messages.ts';
import { parseBody, type ReadBody } from '../mcp/read/parse-message.ts';
import type { JudgedMessages } from '../request/judged-messages.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { BackendRequest } from '../request/run-steps.ts';
import { seeMessage } from '../request/seen-message.ts';
import { continueUnchanged, type Denial, type GatewayAnswer, type Verdict } from '../request/verdict.ts';

/** Reads the message of a request to a federation. Returns a promise only when it has to wait for a body. */
export function readFederatedMessage(request: BackendRequest): Verdict | Promise<Verdict> {
  const { context, backend, matched } = request;
  if (backend.federation === undefined) return continueUnchanged;
  const { exchange } = context;
  if (isBehindPrefix(context.path, matched.matchedPrefix))
    return deny(context, 'no_route', 'a federation has no paths behind that of its endpoint');
  if (exchange.upgradeProtocol !== undefined)
    return deny(context, 'upgrade_refused', 'a federation cannot follow a protocol upgrade');
  // Rules over messages have read it, and its version.
  if (exchange.method === 'POST' && context.messages?.read !== undefined) return continueUnchanged;
  const version = readVersionHeader(exchange.headers);
  if (!version.ok)
    return answerMalformed(context, 'header_mismatch', undefined, severalVersions.code, severalVersions.message);
  switch (exchange.method) {
    case 'POST':
      return readPost(request, version.version);
    case 'GET':
    case 'DELETE':
      return readNothing(context);
    default:
      return deny(context, 'method_not_allowed', `MCP has no ${exchange.method}`, ['allow', 'GET, POST, DELETE']);
  }
}

function isBehindPrefix(path: string, prefix: string | undefined): boolean {
  return prefix !== undefined && path !== prefix && path !== `${prefix}/`;
}

function readPost(request: BackendRequest, version: string | undefined): Verdict | Promise<Verdict> {
  const { context } = request;
  const { exchange, messages } = context;
  if (messages?.body !== undefined) return readAgain(context, messages, messages.body);
  const unreadable = exchange.hasBody ? findUnreadableForm(exchange.headers) : undefined;
  if (unreadable !== undefined) return deny(context, 'body_not_readable', unreadable);
  const body = readMessageBody(exchange);
  const act = (read: MessageBody): Verdict | Promise<Verdict> => {
    if (!read.ok) return deny(context, read.reason, read.detail, retryHeaders(read.reason));
    const { share } = read;
    return keep(request, version, read.bytes, () => void share.resize(0));
  };
  return body instanceof Promise ? body.then(act) : act(body);
}

function readNothing(context: RequestContext): Verdict | Promise<Verdict> {
  const { exchange, messages } = context;
  // Rules over messages have looked already.
  if (!exchange.hasBody || messages?.body !== undefined) return continueUnchanged;
  const body = readMessageBody(exchange, 0);
  const act = (read: MessageBody): Verdict => {
    if (read.ok) {
      context.messages = { ...continueUnchanged, body: read.bytes, filterAnswer: undefined };
      return continueUnchanged;
    }
    if (read.reason !== 'body_too_large') return deny(context, read.reason, read.detail);
    const denial = deny(context, 'message_malformed', `a ${exchange.method} with a body`);
    return { ...denial, description: `A ${exchange.method} must not have a body.` };
  };
  return body instanceof Promise ? body.then(act) : act(body);
}

/** No rule reads an argument. */
const noKeys: KnownKeys = new Map();

function keep(
  request: BackendRequest,
  versionHeader: string | undefined,
  bytes: Uint8Array,
  releaseBody: () => void,
): Verdict | Promise<Verdict> {
  const { context, backend, findAppTools } = request;
  const { headers } = context.exchange;
  const reading = readMessages(bytes, { headers, versionHeader, transport: 'streamable-http' }, noKeys);
  if (!reading.ok) {
    releaseBody();
    return answerMalformed(context, reading.reason, reading.id, reading.code, reading.message);
  }
  const { read } = reading;
  const pass = (
    named: Pick<JudgedMessages, 'mcpName' | 'refused'> & { readonly read: ReadBody },
    body = bytes,
  ): Verdict => {
    context.mcpMessage = seeFirst(named.read);
    context.messages = { ...continueUnchanged, ...named, body, releaseBody, filterAnswer: undefined };
    return continueUnchanged;
  };
  const bare = listBareCalls(backend.federation, read);
  if (bare.length === 0 || findAppTools === undefined) return pass({ read });
  return findAppTools(request, bare, read.messages[0], always).then(({ prefixed, refused }) => {
    if (prefixed.size === 0) return pass({ read, refused });
    const { bytes: body, ...renamed } = renameCalls(read, prefixed, noKeys);
    return pass({ ...renamed, refused }, body);
  });
}

/** Without rules lists show everything. */
const always = (): boolean => true;

/** The rules changed the body: an item that is hidden has another name now, or messages of a batch are gone. */
function readAgain(context: RequestContext, messages: JudgedMessages, body: Uint8Array): Verdict {
  const parsed = parseBody(body, noKeys);
  if (!parsed.ok) throw new Error(`a body that rules have changed ${parsed.problem}`);
  context.messages = { ...messages, read: parsed };
  return continueUnchanged;
}

const nothing: RawHeaders = [];

/** For the log. */
function seeFirst({ messages }: ReadBody): RequestContext['mcpMessage'] {
  const first = messages.find((message) => message.kind !== 'response');
  if (first === undefined) return undefined;
  const reading = readItems(first);
  return seeMessage(first.method, reading.ok ? reading.items[0] : undefined, messages.length);
}

function retryHeaders(reason: Reason): RawHeaders {
  return reason === 'bodies_over_budget' ? ['retry-after', '1'] : nothing;
}

function deny(context: RequestContext, reason: Reason, detail: string, headers: RawHeaders = nothing): Denial {
  return { kind: 'deny', reason, detail, responseHeaders: [...headers, ...exposeToScripts(context)] };
}

function answerMalformed(
  context: RequestContext,
  reason: Reason,
  id: MessageId | undefined,
  code: number,
  message: string,
): GatewayAnswer {
  context.reason = reason;
  context.detail = message;
  return {
    kind: 'respond',
    status: 400,
    headers: ['content-type', 'application/json', 'cache-control', 'no-store', ...exposeToScripts(context)],
    body: formatRpcError(id, { code, message }),
  };
}
