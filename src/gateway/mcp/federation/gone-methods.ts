// Methods that servers of 2026-07-28 do not have any more, and clients up to 2025-11-25 still ask for: the gateway answers them in place of the server, and tells the server
// what they stand for with every request (the level of logs) or every stream (the resources that the client wants to hear of).
import { isJsonObject } from '../../../base/json-object.ts';
import { readMember, replaceId } from '../names/message-head.ts';
import { rpcCodes } from '../read/message.ts';
import { askSubscription } from './ask-subscription.ts';
import type { WishObstacle, WishTable } from './session-wishes.ts';
import { modernVersion } from './modern-request.ts';
import type { TargetParts } from './target-parts.ts';
import type { OutgoingMessage, SessionKeeper, Speaker, TargetFailure, TargetMessage } from './target.ts';
import { antiquateAnswer } from './translate-answer.ts';

export type GoneAnswer =
  | { readonly ok: true; readonly answer: TargetMessage }
  | { readonly ok: false; readonly failure: TargetFailure };

/** JSON-RPC: the server cannot do it at the moment. */
const internalError = -32_603;

/** Whether the server has no such method, so that `answerGone` answers. */
export function isGone(method: string): boolean {
  return method === 'logging/setLevel' || method === 'resources/subscribe' || method === 'resources/unsubscribe';
}

/** Answers a client with a session. `capabilities`: of the server, as JSON. */
export async function answerGone(
  parts: TargetParts,
  speaker: Speaker,
  sessions: SessionKeeper,
  outgoing: OutgoingMessage,
  capabilities: string,
  timeoutMs: number,
): Promise<GoneAnswer> {
  const { text, message } = outgoing;
  switch (message.method) {
    case 'logging/setLevel': {
      // The level itself is kept for all servers of the session, whoever is up.
      const { logging } = JSON.parse(capabilities) as { readonly logging?: unknown };
      return isJsonObject(logging) ? done(text) : refuse(text, rpcCodes.methodNotFound, 'Method not found');
    }
    case 'resources/subscribe':
      return subscribe(parts, speaker, sessions, outgoing, timeoutMs);
    default:
      return done(text);
  }
}

/** Drops a subscription that is kept here, whether its server can be reached or not; undefined: it is not. */
export function unsubscribeKept(
  { config }: TargetParts,
  sessions: SessionKeeper | undefined,
  { text, message }: OutgoingMessage,
): TargetMessage | undefined {
  if (sessions === undefined || message.method !== 'resources/unsubscribe') return undefined;
  const wasKept = sessions.wishes.unsubscribe(sessions.name, config.name, String(message.params['uri']));
  return wasKept ? respond(text, '"result":{}') : undefined;
}

async function subscribe(
  parts: TargetParts,
  speaker: Speaker,
  { name: session, wishes }: SessionKeeper,
  { text, message }: OutgoingMessage,
  timeoutMs: number,
): Promise<GoneAnswer> {
  const { name: target } = parts.config;
  const uri = String(message.params['uri']);
  const obstacle = wishes.findObstacle(session, target, uri, speaker.owner);
  if (obstacle !== undefined) return refuseFor(text, obstacle, wishes);
  if (!wishes.listUris(session, target).has(uri)) {
    const asked = await askSubscription(parts, speaker, uri, timeoutMs);
    if (asked.kind === 'failed') return { ok: false, failure: asked.failure };
    if (asked.kind === 'error') return answered(antiquateAnswer(replaceId(asked.text, readId(text)), message.method));
    if (asked.kind === 'left-out')
      return refuse(text, rpcCodes.invalidParams, 'The server does not tell of changes of this resource.', { uri });
  }
  const subscribed = wishes.subscribe(session, target, uri, speaker.owner);
  if (!subscribed.ok) return refuseFor(text, subscribed.obstacle, wishes);
  if (await hasFollowed(subscribed.followed, timeoutMs)) return done(text);
  wishes.unsubscribe(session, target, uri);
  return refuse(text, internalError, 'The server refuses a stream that tells of this resource as well.', { uri });
}

/** After the answer the client relies on being told: its streams have the resource by then, unless their server is slow to say so. */
async function hasFollowed(followed: Promise<boolean>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(true), timeoutMs)));
  const has = await Promise.race([followed, late]);
  clearTimeout(timer);
  return has;
}

function refuseFor(text: string, obstacle: WishObstacle, { limits }: WishTable): GoneAnswer {
  switch (obstacle) {
    case 'too-long':
      return refuse(text, rpcCodes.invalidParams, `The URI is longer than ${limits.uriLength} characters.`);
    case 'too-many': {
      const most = `at most ${limits.uris} subscriptions at a server that speaks ${modernVersion}`;
      return refuse(text, internalError, `A session has ${most}.`);
    }
    case 'full':
      return refuse(text, internalError, 'The gateway cannot keep more subscriptions at the moment.');
    case 'ended':
      return refuse(text, internalError, 'The session has ended.');
  }
}

function done(text: string): GoneAnswer {
  return { ok: true, answer: respond(text, '"result":{}') };
}

function refuse(text: string, code: number, message: string, data?: object): GoneAnswer {
  const error = JSON.stringify({ code, message, ...(data !== undefined && { data }) });
  return { ok: true, answer: respond(text, `"error":${error}`) };
}

function respond(text: string, member: string): TargetMessage {
  return toResponse(`{"jsonrpc":"2.0","id":${readId(text)},${member}}`);
}

function answered(text: string): GoneAnswer {
  return { ok: true, answer: toResponse(text) };
}

function toResponse(text: string): TargetMessage {
  return { text, kind: 'response', id: readId(text), method: undefined, eventId: undefined };
}

function readId(text: string): string {
  return readMember(text, ['id'])!;
}
