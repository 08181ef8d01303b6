// Requests to servers up to 2025-11-25: of clients that have a session there themselves, and of clients of 2026-07-28, which share one.
import { readMember, replaceId, replaceProgressToken } from '../names/message-head.ts';
import { tellTarget } from './ask-target.ts';
import { type BegunSession, isSessionLost, writeSessionGet, writeSessionPost } from './legacy-session.ts';
import { reachesLevel, readLogLevel } from './log-levels.ts';
import type { MessageRequest, Refusal } from './message-source.ts';
import { removeEnvelope } from './modern-request.ts';
import type { OwnSessions } from './own-sessions.ts';
import type { ReadMessage } from './read-messages.ts';
import type { SharedSession, SharedSessions } from './shared-sessions.ts';
import type { CallPlan, Prepared } from './target-call.ts';
import type { TargetParts } from './target-parts.ts';
import type { CallPlace, OutgoingMessage, Speaker, TargetMessage, TargetSession } from './target.ts';
import { modernizeAnswer } from './translate-answer.ts';

/** A message as it came. */
export function asItIs({ text, head, eventId }: ReadMessage): TargetMessage {
  return { text, kind: head.kind, id: head.id, method: head.method, eventId };
}

/** Whether the endpoint of a session cannot be reached, although others can: the session is lost with it. */
function isEndpointLost(parts: TargetParts, session: TargetSession, refusal: Refusal | undefined): boolean {
  if (refusal !== undefined || session.tag === undefined) return false;
  const backend = parts.findBackend();
  if (backend === undefined || backend.endpoints.length === 0) return false;
  return backend.findByTag(session.tag) === undefined || backend.endpoints.length > 1;
}

export function isLost(parts: TargetParts, session: TargetSession, refusal: Refusal | undefined): boolean {
  return refusal === undefined ? isEndpointLost(parts, session, refusal) : isSessionLost(refusal, session);
}

/** The request of a client with sessions: its own ids pass, and what the server asks passes too. */
export function planOwnCall(
  parts: TargetParts,
  sessions: OwnSessions,
  speaker: Speaker,
  message: OutgoingMessage,
): CallPlan {
  let session: TargetSession | undefined;
  const id = JSON.stringify(message.message.id);
  const write = (begun: BegunSession): Prepared => {
    if (!begun.ok) return begun;
    ({ session } = begun);
    return { ok: true, request: writeSessionPost(parts, speaker, session, message.text) };
  };
  return {
    id,
    prepare() {
      session = sessions.find(speaker);
      if (session === undefined) return sessions.begin(speaker, undefined).then(write);
      return { ok: true, request: writeSessionPost(parts, speaker, session, message.text) };
    },
    prepareAgain(refusal) {
      if (session === undefined || !isLost(parts, session, refusal)) return undefined;
      return sessions.begin(speaker, session).then(write);
    },
    describeStream: () => ({ session }),
    translate: asItIs,
    resumeAfter: (eventId) => (session === undefined ? undefined : writeSessionGet(parts, speaker, session, eventId)),
    cancel() {
      if (session !== undefined) tellCancelled(parts, speaker, session, id);
    },
    release() {},
  };
}

/** The rest of such a request, in the session in which it was sent, whichever the client has there now. */
export function planResumedCall(parts: TargetParts, speaker: Speaker, place: CallPlace): CallPlan {
  const { id, session, eventId } = place;
  const write = (after: string): MessageRequest => writeSessionGet(parts, speaker, session, after);
  return {
    id,
    resumedAfter: eventId,
    prepare: () => ({ ok: true, request: write(eventId) }),
    prepareAgain: () => undefined,
    describeStream: () => ({ session }),
    translate: asItIs,
    resumeAfter: write,
    cancel: () => tellCancelled(parts, speaker, session, id),
    release() {},
  };
}

/** The request of a client without sessions: ids and progress tokens are those of the shared session. */
export function planSharedCall(
  parts: TargetParts,
  sessions: SharedSessions,
  speaker: Speaker,
  message: OutgoingMessage,
): CallPlan {
  const shared: SharedSession = sessions.use(speaker);
  const id = shared.nextId();
  const clientId = JSON.stringify(message.message.id);
  const token = readMember(message.text, ['params', '_meta', 'progressToken']);
  const logLevel = readLogLevel(message.text);
  const text = writeShared(message.text, id);
  const { method } = message.message;
  let session: TargetSession | undefined;
  const write = (begun: BegunSession): Prepared => {
    if (!begun.ok) return begun;
    ({ session } = begun);
    return { ok: true, request: writeSessionPost(parts, speaker, session, text) };
  };
  return {
    id,
    prepare: () => sessions.open(shared, speaker, undefined).then(write),
    prepareAgain(refusal) {
      if (session === undefined || !isLost(parts, session, refusal)) return undefined;
      return sessions.open(shared, speaker, session).then(write);
    },
    // In 2026-07-28 some errors have a status of HTTP, so the answer has to be known first.
    describeStream: () => undefined,
    translate(received) {
      const { head, eventId } = received;
      if (head.kind === 'response')
        return {
          text: replaceId(modernizeAnswer(received.text, method), clientId),
          kind: 'response',
          id: clientId,
          method: undefined,
          eventId,
        };
      if (head.kind === 'request') {
        if (session !== undefined) answerQuestion(parts, speaker, session, received);
        return undefined;
      }
      if (head.method === 'notifications/progress') {
        if (token === undefined || readMember(received.text, ['params', 'progressToken']) !== id) return undefined;
        return { ...asItIs(received), text: replaceProgressToken(received.text, token) };
      }
      // Clients of 2026-07-28 ask for log messages with each request, or get none.
      if (head.method === 'notifications/message')
        return reachesLevel(received.text, logLevel) ? asItIs(received) : undefined;
      shared.tell(received);
      return undefined;
    },
    resumeAfter: (eventId) => (session === undefined ? undefined : writeSessionGet(parts, speaker, session, eventId)),
    cancel() {
      if (session !== undefined) tellCancelled(parts, speaker, session, id);
    },
    release: () => sessions.release(shared),
  };
}

function writeShared(text: string, id: string): string {
  return replaceProgressToken(replaceId(removeEnvelope(text), id), id);
}

/** How long a server may take to accept a message that it does not answer. */
const tellMs = 10_000;

function tellCancelled(parts: TargetParts, speaker: Speaker, session: TargetSession, id: string): void {
  const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
  void tellTarget(parts, writeSessionPost(parts, speaker, session, text), tellMs);
}

/** A question that the client could not answer is answered at once, so that the server does not wait. */
export function answerQuestion(
  parts: TargetParts,
  speaker: Speaker,
  session: TargetSession,
  { head }: ReadMessage,
): void {
  void tellTarget(parts, writeSessionPost(parts, speaker, session, writeRefusedQuestion(head)), tellMs);
}

/** The answer to a question that has no one to answer it. */
export function writeRefusedQuestion({ id, method }: ReadMessage['head']): string {
  if (method === 'ping') return `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  const error = '{"code":-32601,"message":"The client speaks a version of MCP in which servers do not ask it."}';
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}
