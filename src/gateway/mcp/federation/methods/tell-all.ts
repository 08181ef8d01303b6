// What concerns every target: the level of logs, the list of tasks, and notifications.
import { cutText } from '../../../../base/cut-text.ts';
import { walkElements, walkValue } from '../../../../base/json-text.ts';
import { readMember, replaceProgressToken } from '../../names/message-head.ts';
import { renameAnswer } from '../../names/rename-answer.ts';
import type { MessageId, MethodMessage } from '../../read/message.ts';
import { rpcCodes } from '../../read/message.ts';
import { askOnce } from '../ask-once.ts';
import type { Member } from '../federation.ts';
import { findValue } from '../json-members.ts';
import { logLevels } from '../log-levels.ts';
import { openQuestion } from '../question-id.ts';
import { type AskedOfAll, togetherMs } from '../slow-targets.ts';
import type { TargetFailure } from '../target.ts';
import {
  describeAllDown,
  describeUnanswered,
  describeFailure,
  formatError,
  formatResult,
  internalError,
  noteFailure,
} from './failures.ts';
import {
  type Asked,
  type Conversation,
  type MessageSink,
  nothingRunning,
  type Running,
  type Said,
} from './federated-request.ts';
import { hearStreams } from './hear-streams.ts';

/** What one target says to a request to all of them. */
type Reply =
  | { readonly kind: 'done'; /** As JSON. */ readonly entries: readonly string[] }
  /** It does not have the method. */
  | { readonly kind: 'unknown' }
  /** It answered with an error. */
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: TargetFailure };

const told: Reply = { kind: 'done', entries: [] };

type AskMember = (member: Member, signal: AbortSignal) => Promise<Reply>;

/** `logging/setLevel`. */
export function setLevel(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { level } = asked.message.params;
  const { id } = asked.message;
  const { session } = conversation;
  if (typeof level !== 'string' || !logLevels.includes(level)) {
    sink.answer(formatError(id, rpcCodes.invalidParams, describeLevel(level)));
    return nothingRunning;
  }
  // For servers that keep no sessions, also for those that are down now.
  session?.wishes.setLevel(session.name, level);
  const ask: AskMember = async ({ target }, signal) => {
    const answer = await askOnce(target, conversation.speaker, 'logging/setLevel', { level }, signal);
    if (!answer.ok) return { kind: 'failed', failure: answer.failure };
    if (readMember(answer.text, ['result']) !== undefined) return told;
    // A server without logs has nothing to be told, and the level is kept for others.
    const refusal = readRefusal(answer.text);
    return refusal.kind === 'unknown' ? told : refusal;
  };
  return askAll(conversation, id, 'logging/setLevel', ask, () => formatResult(id, '{}'), sink);
}

/** Of a level that is none. */
const maxShownLength = 64;

function describeLevel(level: unknown): string {
  if (level === undefined) return 'The message has no level.';
  return `Unknown log level: ${cutText(JSON.stringify(level), maxShownLength)}. The levels are ${logLevels.join(', ')}.`;
}

/** Of one target; a server that counts pages without end is not followed. */
const maxTaskPages = 100;
/** Characters of all tasks of one target, as of its other lists. */
const maxTaskText = 16_777_216;

/** `tasks/list` (2025-11-25). */
export function listTasks(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { id } = asked.message;
  const { config, speaker } = conversation;
  const ask: AskMember = async (member, signal) => {
    const entries: string[] = [];
    let size = 0;
    let cursor: string | undefined;
    for (let page = 0; page < maxTaskPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      // eslint-disable-next-line no-await-in-loop -- each page says where the next one begins
      const answer = await askOnce(member.target, speaker, 'tasks/list', params, signal);
      if (!answer.ok) return { kind: 'failed', failure: answer.failure };
      const text = renameAnswer(answer.text, 'tasks/list', member.config, config.naming);
      if (readMember(text, ['error']) !== undefined) return readRefusal(text);
      const tasks = findValue(text, ['result', 'tasks']);
      if (tasks === undefined || text[tasks.start] !== '[') return garbage('its list of tasks cannot be read');
      walkElements(text, tasks.start, (at) => {
        const end = walkValue(text, at);
        entries.push(text.slice(at, end));
        size += end - at;
        return end;
      });
      if (size > maxTaskText) return garbage(`its list of tasks has more than ${maxTaskText} characters`);
      cursor = readCursor(readMember(text, ['result', 'nextCursor']));
      if (cursor === undefined) return { kind: 'done', entries };
    }
    return garbage(`its list of tasks has more than ${maxTaskPages} pages`);
  };
  const write = (entries: readonly string[], missing: readonly string[]): string => {
    const meta = missing.length === 0 ? '' : `,"_meta":${JSON.stringify({ 'gateway.proxy/unavailable': missing })}`;
    return formatResult(id, `{"tasks":[${entries.join(',')}]${meta}}`);
  };
  return askAll(conversation, id, 'tasks/list', ask, write, sink);
}

/** Anything but a text says that there is no page more. */
function readCursor(json: string | undefined): string | undefined {
  return json?.startsWith('"') === true ? (JSON.parse(json) as string) : undefined;
}

function readRefusal(text: string): Reply {
  return readMember(text, ['error', 'code']) === String(rpcCodes.methodNotFound)
    ? { kind: 'unknown' }
    : { kind: 'refused', text };
}

function garbage(detail: string): Reply {
  return { kind: 'failed', failure: { kind: 'garbage', status: undefined, headers: [], detail } };
}

function askAll(
  conversation: Conversation,
  id: MessageId,
  method: Exclude<AskedOfAll, 'lists'>,
  ask: AskMember,
  write: (entries: readonly string[], missing: readonly string[]) => string,
  sink: MessageSink,
): Running {
  const { slow, members: all } = conversation.federation;
  const stop = new AbortController();
  let isOver = false;
  let isGone = false;
  const timer = setTimeout(() => {
    isOver = true;
    stop.abort();
  }, togetherMs);
  const askMember = async ({ config, target }: Member): Promise<Reply> => {
    const reply = await ask({ config, target: hearStreams(slow.pass(target, method), sink) }, stop.signal);
    if (isOver && reply.kind === 'failed') slow.note(config.name, method);
    return reply;
  };
  const members = [...all];
  Promise.all(members.map(askMember))
    .then((replies) => mergeReplies(conversation, id, members, replies, write))
    .catch((error: unknown) => {
      conversation.note({ reason: 'internal_error', detail: String(error) });
      return formatError(id, internalError, 'The gateway failed to ask its servers.');
    })
    .then((json) => {
      clearTimeout(timer);
      if (!isGone) sink.answer(json);
    })
    .catch((error: unknown) => conversation.note({ reason: 'internal_error', detail: String(error) }));
  return {
    resume() {},
    abort() {
      isGone = true;
      clearTimeout(timer);
      stop.abort();
    },
  };
}

function mergeReplies(
  { note }: Conversation,
  id: MessageId,
  members: readonly Member[],
  replies: readonly Reply[],
  write: (entries: readonly string[], missing: readonly string[]) => string,
): string {
  const entries: string[] = [];
  const missing: string[] = [];
  let refusal: Extract<Reply, { kind: 'refused' | 'unknown' }> | undefined;
  let isDone = false;
  for (const [index, reply] of replies.entries()) {
    const { name, failsClosed } = members[index]!.config;
    if (reply.kind === 'done') {
      isDone = true;
      entries.push(...reply.entries);
    } else if (reply.kind !== 'failed') {
      if (refusal?.kind !== 'refused') refusal = reply;
    } else {
      noteFailure(name, reply.failure, note);
      missing.push(name);
      if (!failsClosed) continue;
      const { message, data } = describeFailure(name, reply.failure);
      return formatError(id, internalError, message, data);
    }
  }
  if (isDone) return write(entries, missing);
  if (refusal?.kind === 'refused') return answerAs(id, refusal.text);
  if (refusal !== undefined && missing.length === 0)
    return formatError(id, rpcCodes.methodNotFound, 'Method not found');
  // Those that are missing may be the ones that know it.
  const says = refusal === undefined ? describeAllDown(missing) : describeUnanswered(missing);
  return formatError(id, internalError, says, { targets: missing });
}

/** The error of one target, as the answer to the client. */
function answerAs(id: MessageId, text: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${readMember(text, ['error']) ?? '{}'}}`;
}

/** A notification of the client, for those whom it concerns. */
export function notify(conversation: Conversation, said: Said): void {
  const { text, members } = address(conversation, said);
  const { speaker, note } = conversation;
  for (const { config, target } of members) {
    // A server that is down need not be told: what it knew of the client is gone.
    target.notify(speaker, text).then(
      (failure) => {
        if (failure !== undefined) note({ detail: `${config.name}: ${failure.detail}` });
      },
      (error: unknown) => note({ reason: 'internal_error', detail: String(error) }),
    );
  }
}

function address(
  { federation, session, sealer }: Conversation,
  { message, text }: Said,
): { readonly text: string; readonly members: Iterable<Member> } {
  if (session === undefined) return { text, members: federation.members };
  switch (message.method) {
    case 'notifications/cancelled': {
      const name = findPending(message, (id) => federation.pending.find(session.name, id));
      const member = name === undefined ? undefined : federation.find(name);
      return { text, members: member === undefined ? federation.members : [member] };
    }
    case 'notifications/progress': {
      // About a question of a server, whose token was sealed like its id.
      const token = readMember(text, ['params', 'progressToken']);
      const question = token === undefined ? undefined : openQuestion(sealer, session.name, token);
      const member = question && federation.find(question.target);
      return member === undefined
        ? { text, members: [] }
        : { text: replaceProgressToken(text, question!.id), members: [member] };
    }
    // Each target was told when its session began.
    case 'notifications/initialized':
      return { text, members: [] };
    default:
      return { text, members: federation.members };
  }
}

function findPending({ params }: MethodMessage, find: (id: string) => string | undefined): string | undefined {
  const { requestId } = params;
  return typeof requestId === 'string' || typeof requestId === 'number' ? find(JSON.stringify(requestId)) : undefined;
}
