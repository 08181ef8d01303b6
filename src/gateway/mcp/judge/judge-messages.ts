// Rules over MCP messages (`spec.backend.mcp.authorization`): reads the body once, judges its messages, and creates the filter of the answer.
import type { BackendConfig } from '../../config/runtime-config.ts';
import type { Exchange, RawHeaders } from '../../http/exchange.ts';
import { readRequestVariables } from '../../authorization/request-variables.ts';
import { exposeToScripts } from '../../authentication/browser-access.ts';
import { readPreflightMethod } from '../../http/preflight.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';
import type { Denial } from '../../request/verdict.ts';
import type { Reason } from '../../http/reasons.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { VerifiedToken } from '../../authentication/token/verified-token.ts';
import type { AnswerExpectation } from '../answer/answer-expectation.ts';
import { findMissingScopes, listNeededScopes, type ScopedUse } from './check-scopes.ts';
import { examineMessage, type HiddenItem } from './examine-message.ts';
import { readFieldValues } from '../read/field-values.ts';
import { createAnswerFilter, defaultAnswerLimits } from '../answer/filter-answer.ts';
import { type Batch, judgeBatch } from './judge-batch.ts';
import { judgeBareRequest, type MessageJudgement } from './judge-message.ts';
import { findListMethod } from '../read/list-methods.ts';
import type { Message, MessageId } from '../read/message.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import { createItemJudges, type MessageStep, noteDenial, noteMessage, notePass, noteRefusal } from './message-step.ts';
import type { MessageVerdict } from '../../request/judged-messages.ts';
import type { FindAppTools } from '../../request/app-tools.ts';
import type { FederationConfig } from '../../config/federation-config.ts';
import type { FilterAnswer } from '../../http/answer-filter.ts';
import { measureSubscription, recallSubscription, rememberSubscription } from './open-subscription.ts';
import type { ReadBody } from '../read/parse-message.ts';
import { readId, readMessages, severalVersions } from '../read/read-messages.ts';
import { chooseVersion, readVersionHeader } from '../read/protocol-version.ts';
import { findUnreadableForm, type MessageBody, readMessageBody } from '../read/read-message-body.ts';
import { restoreNames } from '../answer/restore-names.ts';
import { formatRpcAnswer, formatRpcError, type RpcError } from '../answer/rpc-error.ts';
import { chooseOwnItemFinder } from '../names/own-item.ts';
import { listBareCalls, renameCalls } from '../names/bare-calls.ts';
import { renameItem } from '../names/rename-request.ts';

/** A request to an MCP backend with rules, after authentication and the rules over requests. */
export interface MessageRequest {
  readonly context: RequestContext;
  readonly rules: McpAuthorizationConfig;
  readonly backend: BackendConfig;
  /** Of the backend's MCP authentication, else of the route's JWT authentication. */
  readonly token: VerifiedToken | undefined;
  /** Where a challenge points to; set when the backend has MCP authentication. */
  readonly resource: ProtectedResource | undefined;
  /** Of a federation: whose tools bare names mean. Undefined: nobody's. */
  readonly findAppTools?: FindAppTools | undefined;
  /** The request was allowed earlier and its answer, a stream, is still open. Its body is no longer available. */
  readonly isAgain?: boolean;
}

interface Step extends MessageStep {
  readonly token: VerifiedToken | undefined;
  readonly resource: ProtectedResource | undefined;
  readonly federation: FederationConfig | undefined;
  readonly findAppTools: FindAppTools | undefined;
}

/** Judges a request. Returns a promise only when it has to wait for a body. */
export function judgeMessages(request: MessageRequest): MessageVerdict | Promise<MessageVerdict> {
  const { exchange } = request.context;
  const version = readVersionHeader(exchange.headers);
  const step = startStep(request, version.ok ? version.version : undefined);
  if (exchange.upgradeProtocol !== undefined)
    return deny(step, 'upgrade_refused', 'messages cannot be judged after a protocol upgrade');
  if (!version.ok) return answerMalformed(step, 'header_mismatch', undefined, severalVersions);
  switch (exchange.method) {
    case 'POST':
      return request.isAgain === true ? judgeSingle(step, recallSubscription(exchange), nothing) : judgePost(step);
    case 'GET':
    case 'DELETE':
      return judgeWithoutMessage(step);
    default:
      // Browsers send preflights without credentials, so rules could only refuse them. They carry no message.
      if (readPreflightMethod(exchange.method, exchange.headers) !== undefined && !exchange.hasBody)
        return { kind: 'continue', responseHeaders: [], body: undefined, filterAnswer: undefined };
      return deny(step, 'method_not_allowed', `MCP has no ${exchange.method}`, ['allow', 'GET, POST, DELETE']);
  }
}

function startStep(
  { context, rules, backend, token, resource, findAppTools }: MessageRequest,
  versionHeader: string | undefined,
): Step {
  const caller = {
    rules,
    variables: readRequestVariables(context, token),
    sessionId: readFieldValues(context.exchange.headers, 'mcp-session-id')[0] ?? '',
    findOwnItem: backend.federation && chooseOwnItemFinder(backend.federation),
  };
  return {
    context,
    caller,
    transport: backend.mcp?.transport ?? 'streamable-http',
    versionHeader,
    getItemJudge: createItemJudges(caller),
    token,
    resource,
    federation: backend.federation,
    findAppTools,
  };
}

// ---- requests without a message

function judgeWithoutMessage(step: Step): MessageVerdict | Promise<MessageVerdict> {
  const { exchange } = step.context;
  if (!exchange.hasBody || knownEmpty.has(exchange)) return judgeBare(step, exchange.hasBody ? nothing : undefined);
  // Announced, but perhaps empty.
  const body = readMessageBody(exchange, 0);
  const act = (read: MessageBody): MessageVerdict => {
    if (read.ok) {
      knownEmpty.add(exchange);
      return judgeBare(step, nothing);
    }
    if (read.reason !== 'body_too_large') return deny(step, read.reason, read.detail);
    const denial = deny(step, 'message_malformed', `a ${exchange.method} with a body`);
    return { ...denial, description: `A ${exchange.method} must not have a body.` };
  };
  return body instanceof Promise ? body.then(act) : act(body);
}

/** Requests whose body is known to be empty: a stream is judged again when the rules change, but its body can be read only once. */
const knownEmpty = new WeakSet<Exchange>();
const nothing = new Uint8Array(0);

function judgeBare(step: Step, body: Uint8Array | undefined): MessageVerdict {
  const { context, caller, versionHeader, transport } = step;
  const protocolVersion = chooseVersion(versionHeader, undefined, transport);
  const judgement = judgeBareRequest(caller, protocolVersion);
  if (!judgement.decision.allowed) return denyByRules(step, noteDenial(step, judgement, 'deny', 'rbac_denied'));
  // The stream of a GET may carry any server message, also answers to earlier requests.
  const expectation =
    context.exchange.method === 'GET' ? { listRequests: undefined, injected: [], isBatch: false } : undefined;
  return pass(step, [undefined], judgement, protocolVersion, body, expectation);
}

// ---- requests with messages

function judgePost(step: Step): MessageVerdict | Promise<MessageVerdict> {
  const { exchange } = step.context;
  const unreadable = exchange.hasBody ? findUnreadableForm(exchange.headers) : undefined;
  if (unreadable !== undefined) return deny(step, 'body_not_readable', unreadable);
  const body = readMessageBody(exchange);
  return body instanceof Promise ? body.then((read) => judgeRead(step, read)) : judgeRead(step, body);
}

function judgeRead(step: Step, body: MessageBody): MessageVerdict | Promise<MessageVerdict> {
  if (!body.ok)
    return deny(step, body.reason, body.detail, body.reason === 'bodies_over_budget' ? ['retry-after', '1'] : []);
  const { bytes, share } = body;
  const release = (): void => void share.resize(measureSubscription(step.context.exchange));
  const act = (verdict: MessageVerdict): MessageVerdict => {
    if (verdict.kind === 'continue') return { ...verdict, releaseBody: release };
    release();
    return verdict;
  };
  const judged = judgeBody(step, bytes);
  return judged instanceof Promise ? judged.then(act) : act(judged);
}

function judgeBody(step: Step, bytes: Uint8Array): MessageVerdict | Promise<MessageVerdict> {
  const { context, caller, versionHeader, transport } = step;
  const reading = readMessages(
    bytes,
    { headers: context.exchange.headers, versionHeader, transport },
    caller.rules.argumentKeys,
  );
  if (!reading.ok) {
    const { messages, reason, id, code, message } = reading;
    if (messages !== undefined) noteMessage(step, messages[0], undefined, messages.length);
    return answerMalformed(step, reason, id, { code, message });
  }
  const { read } = reading;
  const bare = listBareCalls(step.federation, read);
  return bare.length === 0 || step.findAppTools === undefined
    ? judgeNamed(step, read, bytes)
    : judgeBareCalls(step, read, bytes, bare, step.findAppTools);
}

/** Every tool has its one name before it is judged. What lists hide from the caller is not found, like what does not exist. */
async function judgeBareCalls(
  step: Step,
  read: ReadBody,
  bytes: Uint8Array,
  names: readonly string[],
  find: FindAppTools,
): Promise<MessageVerdict> {
  const [message] = read.messages;
  const isListed = step.getItemJudge(chooseVersion(step.versionHeader, message, step.transport));
  const { prefixed, refused } = await find(names, message, (name) => isListed('tool', name));
  const named: Step = { ...step, refused };
  if (prefixed.size === 0) return judgeNamed(named, read, bytes);
  const renamed = renameCalls(read, prefixed, step.caller.rules.argumentKeys);
  const verdict = judgeNamed(named, renamed.read, renamed.bytes);
  return verdict.kind === 'continue' ? { mcpName: renamed.mcpName, ...verdict } : verdict;
}

function judgeNamed(step: Step, read: ReadBody, bytes: Uint8Array): MessageVerdict {
  const verdict = read.isBatch ? judgeSeveral(step, read, bytes) : judgeSingle(step, read.messages[0], bytes);
  return withRead(verdict, read, bytes);
}

/** What goes on unchanged need not be read again. */
function withRead(verdict: MessageVerdict, read: ReadBody, bytes: Uint8Array): MessageVerdict {
  return verdict.kind === 'continue' && verdict.body === bytes ? { ...verdict, read } : verdict;
}

function judgeSingle(step: Step, message: Message, bytes: Uint8Array): MessageVerdict {
  const examination = examineMessage(step, message);
  if (examination.kind === 'denied') return denyByRules(step, examination.detail);
  if (examination.kind === 'answered') {
    const { reason, detail, status, error } = examination;
    return answer(step, reason, detail, status, formatRpcError(readId(message), error));
  }
  rememberSubscription(step.context.exchange, message);
  const { use, judgement, hidden } = examination;
  const protocolVersion = chooseVersion(step.versionHeader, message, step.transport);
  const method = message.kind === 'request' ? findListMethod(message) : undefined;
  const listRequests: AnswerExpectation['listRequests'] =
    method === undefined ? noLists : new Map([[JSON.stringify(readId(message)), method]]);
  const expectation = { listRequests, injected: [], isBatch: false };
  if (hidden === undefined || message.kind !== 'request')
    return pass(step, [use], judgement, protocolVersion, bytes, expectation);
  const { item, seed } = hidden.standIn;
  const { name } = item;
  const body = Buffer.from(renameItem(utf8.decode(bytes), message.method, name));
  const verdict = pass(step, [use], judgement, protocolVersion, body, expectation, [hidden]);
  return verdict.kind === 'continue' ? { ...verdict, mcpName: name, hidden: { name: hidden.name, seed } } : verdict;
}

const utf8 = new TextDecoder();
const noLists: AnswerExpectation['listRequests'] = new Map();

function judgeSeveral(step: Step, batch: Batch, bytes: Uint8Array): MessageVerdict {
  const { text, injected, uses, listRequests, judgement, refused, hidden } = judgeBatch(step, batch);
  if (text === '') {
    const { reason, detail } = refused!.kind === 'denied' ? { reason: 'rbac_denied' as const, ...refused! } : refused!;
    if (injected.length > 0) return answer(step, reason, detail, 200, `[${injected.join(',')}]`);
    // Only notifications and answers: there is no message to answer, so an HTTP error reports the refusal.
    return { ...denyByRules(step, detail), reason, status: reason === 'rbac_denied' ? 403 : 400 };
  }
  const protocolVersion = chooseVersion(step.versionHeader, undefined, step.transport);
  const body = text === undefined ? bytes : Buffer.from(text);
  return pass(step, uses, judgement!, protocolVersion, body, { listRequests, injected, isBatch: true }, hidden);
}

// ---- verdicts

/** The rules allow the messages, or hide their items. Checks the scopes next. */
function pass(
  step: Step,
  uses: readonly (ScopedUse | undefined)[],
  judgement: MessageJudgement,
  protocolVersion: string,
  body: Uint8Array | undefined,
  expectation: Pick<AnswerExpectation, 'listRequests' | 'injected' | 'isBatch'> | undefined,
  hidden: readonly HiddenItem[] = [],
): MessageVerdict {
  const { rules } = step.caller;
  const missing = findMissingScopes(step, listNeededScopes(rules.scopes, uses));
  if (missing !== undefined) {
    noteRefusal(step, missing.reason, missing.detail, judgement);
    return missing;
  }
  if (hidden.length === 0) notePass(step, judgement);
  else noteHidden(step, hidden[0]!, expectation?.isBatch === true);
  let filterAnswer: FilterAnswer | undefined;
  // Without rules nothing is hidden, but answers to refused messages of a batch still have to be merged.
  if (expectation !== undefined && (rules.hasRules || expectation.injected.length > 0))
    filterAnswer = createAnswerFilter({ rules, judge: step.getItemJudge(protocolVersion), ...expectation });
  if (filterAnswer !== undefined && hidden.length > 0) {
    const parts = hidden.flatMap(({ standIn }) => standIn.parts);
    filterAnswer = restoreNames(filterAnswer, parts, defaultAnswerLimits.maxBodyBytes);
  }
  return { kind: 'continue', responseHeaders: [], body, filterAnswer };
}

/** Notes a refusal by the rules that the server will answer. */
function noteHidden(step: Step, { judgement }: HiddenItem, isBatch: boolean): void {
  const detail = noteDenial(step, judgement, 'respond', 'item_hidden');
  // The other messages of a batch are answered as usual.
  if (isBatch) return;
  step.context.reason = 'item_hidden';
  step.context.detail = detail;
}

function denyByRules({ context }: Step, detail: string): Denial {
  return { kind: 'deny', reason: 'rbac_denied', detail, responseHeaders: exposeToScripts(context) };
}

function deny(step: Step, reason: Reason, detail: string, headers: RawHeaders = []): Denial {
  if (reason !== 'client_disconnected') noteRefusal(step, reason, detail);
  const responseHeaders = [...headers, ...exposeToScripts(step.context)];
  return { kind: 'deny', reason, detail, responseHeaders };
}

/** A body that cannot be judged is not forwarded. */
function answerMalformed(step: Step, reason: Reason, id: MessageId | undefined, error: RpcError): MessageVerdict {
  noteRefusal(step, reason, error.message);
  return answer(step, reason, error.message, 400, formatRpcError(id, error));
}

/** On the older transport, JSON-RPC answers are sent on another stream, so an error here is an HTTP error. */
function answer(step: Step, reason: Reason, detail: string, status: number, json: string): MessageVerdict {
  const { context, transport } = step;
  context.reason = reason;
  context.detail = detail;
  const isError = status >= 400 || transport === 'sse';
  const { headers, body } = formatRpcAnswer(isError ? [] : context.exchange.headers, json);
  return {
    kind: 'respond',
    status: isError && status < 400 ? 400 : status,
    headers: [...headers, ...exposeToScripts(context)],
    body,
  };
}
