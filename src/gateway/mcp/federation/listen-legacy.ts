// The GET stream of servers up to 2025-11-25: one for each client that has a session there itself, and one for all streams of a shared session.
import { readMember } from '../names/message-head.ts';
import { askTarget } from './ask-target.ts';
import { KeptStream } from './kept-stream.ts';
import { answerQuestion, asItIs, isLost } from './legacy-plans.ts';
import { type BegunSession, writeSessionGet, writeSessionPost } from './legacy-session.ts';
import type { MessageRequest, Refusal } from './message-source.ts';
import type { OwnSessions } from './own-sessions.ts';
import type { ReadMessage } from './read-messages.ts';
import type { SharedListener, SharedSession, SharedSessions, SharedStream } from './shared-sessions.ts';
import type { Prepared } from './target-call.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { ListenFilter, Speaker, TargetCall, TargetEvents, TargetSession } from './target.ts';
import { writeAcknowledgement, writeChanged } from './write-notifications.ts';

/** A stream that a client listens on. */
export interface Listening extends TargetCall {
  /** The target is back. */
  hurry(): void;
}

/** For a client with sessions: everything passes. */
export function listenOwn(
  parts: TargetParts,
  sessions: OwnSessions,
  speaker: Speaker,
  filter: ListenFilter,
  events: TargetEvents,
): Listening {
  let session: TargetSession | undefined;
  let lost: TargetSession | undefined;
  let isNew = false;
  const write =
    (lastEventId: string | undefined) =>
    (begun: BegunSession): Prepared => {
      if (!begun.ok) return begun;
      lost = undefined;
      ({ session } = begun);
      return { ok: true, request: writeStream(parts, speaker, session, lastEventId) };
    };
  const stream = new KeptStream(parts, {
    prepare(lastEventId) {
      session = sessions.find(speaker);
      if (session !== undefined && session.id !== lost?.id)
        return { ok: true, request: writeStream(parts, speaker, session, lastEventId) };
      isNew = lost !== undefined;
      return sessions.begin(speaker, lost).then(write(undefined));
    },
    isLost(refusal: Refusal) {
      const isGone = session !== undefined && isLost(parts, session, refusal);
      if (isGone) lost = session;
      return isGone;
    },
    onOpen() {
      // Another session: what happened in between nobody has heard.
      if (isNew) for (const message of writeChanged(filter)) events.onMessage(message);
      isNew = false;
    },
    onMessage: (message) => message.head.kind === 'response' || events.onMessage(asItIs(message)),
    onNone: () => events.onEnd(),
    onRefused: (failure) => events.onFailure(failure),
  });
  return start(stream);
}

function start(stream: KeptStream): Listening {
  queueMicrotask(() => stream.open());
  return {
    resume: () => stream.resume(),
    abort: () => stream.close(),
    hurry: () => stream.hurry(),
  };
}

/** The standing stream of a session. */
function writeStream(...parts: Parameters<typeof writeSessionGet>): MessageRequest {
  return { ...writeSessionGet(...parts), isUnlimited: true };
}

/** Notifications that wait for a slow client. */
const maxWaiting = 1_000;

/** For a client without sessions: what it asked for, from the one stream of the shared session. */
export function listenShared(
  parts: TargetParts,
  sessions: SharedSessions,
  speaker: Speaker,
  filter: ListenFilter,
  events: TargetEvents,
  timeoutMs: number,
): Listening {
  const shared = sessions.use(speaker);
  let waiting: ReadMessage[] = [];
  let isPaused = false;
  let isDone = false;
  const leave = (): boolean => {
    if (isDone) return false;
    isDone = true;
    waiting = [];
    shared.listeners.delete(listener);
    stopUris(parts, sessions, speaker, shared, filter.uris, timeoutMs);
    if (shared.listeners.size === 0) {
      shared.stream?.close();
      shared.stream = undefined;
    }
    sessions.release(shared);
    return true;
  };
  const listener: SharedListener = {
    onOpen(refused) {
      if (isDone) return;
      const uris = filter.uris.filter((uri) => !refused.has(uri));
      events.onMessage(writeAcknowledgement({ ...filter, uris, tasks: [] }));
    },
    onMessage(message) {
      if (isDone || !wants(filter, message)) return;
      if (!isPaused) isPaused = !events.onMessage(asItIs(message));
      else if (waiting.length < maxWaiting) waiting.push(message);
      else if (leave()) events.onFailure(fail('no-answer', 'the client does not read its stream'));
    },
    onEnd: () => void (leave() && events.onEnd()),
    onFailure: (failure) => void (leave() && events.onFailure(failure)),
  };
  shared.listeners.add(listener);
  for (const uri of filter.uris) shared.uris.set(uri, (shared.uris.get(uri) ?? 0) + 1);
  queueMicrotask(() => {
    if (isDone) return;
    if (shared.stream === undefined) shared.stream = openShared(parts, sessions, speaker, shared, timeoutMs);
    else shared.stream.join(listener, filter.uris);
  });
  return {
    resume() {
      isPaused = false;
      // A client that leaves empties the list.
      while (waiting.length > 0 && !isPaused) isPaused = !events.onMessage(asItIs(waiting.shift()!));
    },
    abort: () => void leave(),
    hurry: () => shared.stream?.hurry(),
  };
}

function openShared(
  parts: TargetParts,
  sessions: SharedSessions,
  speaker: Speaker,
  shared: SharedSession,
  timeoutMs: number,
): SharedStream {
  let session: TargetSession | undefined;
  let lost: TargetSession | undefined;
  let isOpen = false;
  const subscribe = (uris: Iterable<string>): Promise<ReadonlySet<string>> =>
    subscribeUris(parts, speaker, shared, session, uris, 'resources/subscribe', timeoutMs);
  /** Also those of streams that come meanwhile. */
  const subscribeAll = async (): Promise<ReadonlySet<string>> => {
    const asked = new Set<string>();
    const refused = new Set<string>();
    for (;;) {
      const missing = [...shared.uris.keys()].filter((uri) => !asked.has(uri));
      if (missing.length === 0) return refused;
      for (const uri of missing) asked.add(uri);
      // eslint-disable-next-line no-await-in-loop -- more can come while the server is asked
      for (const uri of await subscribe(missing)) refused.add(uri);
    }
  };
  const stream = new KeptStream(parts, {
    prepare: (lastEventId) =>
      sessions.open(shared, speaker, lost).then((begun) => {
        if (!begun.ok) return begun;
        const isSame = begun.session.id === session?.id;
        ({ session } = begun);
        lost = undefined;
        return { ok: true, request: writeStream(parts, speaker, session, isSame ? lastEventId : undefined) };
      }),
    isLost(refusal) {
      const isGone = session !== undefined && isLost(parts, session, refusal);
      if (isGone) lost = session;
      return isGone;
    },
    onOpen(isResumed) {
      void subscribeAll().then((refused) => {
        if (isOpen) {
          if (!isResumed) for (const message of changedMessages) shared.tell(message);
          return;
        }
        isOpen = true;
        for (const listener of shared.listeners) listener.onOpen(refused);
      });
    },
    onMessage(message) {
      if (message.head.kind === 'request') answerQuestion(parts, speaker, session!, message);
      else if (message.head.kind === 'notification') shared.tell(message);
      return true;
    },
    onNone() {
      for (const listener of shared.listeners) listener.onEnd();
    },
    onRefused(failure) {
      for (const listener of shared.listeners) listener.onFailure(failure);
    },
  });
  stream.open();
  return {
    join(listener, uris) {
      if (isOpen) void subscribe(uris).then((refused) => listener.onOpen(refused));
    },
    hurry: () => stream.hurry(),
    close: () => stream.close(),
  };
}

const changedMessages: readonly ReadMessage[] = writeChanged({
  tools: true,
  prompts: true,
  resources: true,
  uris: [],
  tasks: [],
}).map(({ text, method }) => ({
  text,
  head: { kind: 'notification', id: undefined, method, isError: false },
  eventId: undefined,
}));

function wants(filter: ListenFilter, { text, head }: ReadMessage): boolean {
  switch (head.method) {
    case 'notifications/tools/list_changed':
      return filter.tools;
    case 'notifications/prompts/list_changed':
      return filter.prompts;
    case 'notifications/resources/list_changed':
      return filter.resources;
    case 'notifications/resources/updated': {
      const uri = readMember(text, ['params', 'uri']);
      return uri !== undefined && filter.uris.includes(JSON.parse(uri) as string);
    }
    default:
      return false;
  }
}

/** Resolves with those that the server has refused. */
async function subscribeUris(
  parts: TargetParts,
  speaker: Speaker,
  shared: SharedSession,
  session: TargetSession | undefined,
  uris: Iterable<string>,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  timeoutMs: number,
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>(uris);
  if (session === undefined) return refused;
  const asked = [...refused].map(async (uri) => {
    const id = shared.nextId();
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"uri":${JSON.stringify(uri)}}}`;
    const answer = await askTarget(parts, writeSessionPost(parts, speaker, session, text), id, timeoutMs);
    if (answer.ok && readMember(answer.text, ['result']) !== undefined) refused.delete(uri);
  });
  await Promise.all(asked);
  return refused;
}

/** Nobody listens for these URIs any more, unless another stream does. */
function stopUris(
  parts: TargetParts,
  sessions: SharedSessions,
  speaker: Speaker,
  shared: SharedSession,
  uris: readonly string[],
  timeoutMs: number,
): void {
  const gone = uris.filter((uri) => {
    const left = (shared.uris.get(uri) ?? 1) - 1;
    if (left > 0) shared.uris.set(uri, left);
    else shared.uris.delete(uri);
    return left === 0;
  });
  if (gone.length === 0 || shared.begun === undefined || shared.key === undefined) return;
  void sessions.open(shared, speaker, undefined).then((begun) => {
    if (!begun.ok) return undefined;
    return subscribeUris(parts, speaker, shared, begun.session, gone, 'resources/unsubscribe', timeoutMs);
  });
}
