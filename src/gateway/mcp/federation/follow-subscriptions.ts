// The stream of a client up to 2025-11-25 at a server of 2026-07-28. What such a stream is about is fixed when it begins, but the client subscribes and unsubscribes while it
// lasts: then another one is opened, and takes the place of the first when the server has acknowledged it, so that nothing is missed in between.
import { readMember } from '../names/message-head.ts';
import type { Listening } from './listen-legacy.ts';
import { listenModern } from './listen-modern.ts';
import type { TargetParts } from './target-parts.ts';
import type { ListenFilter, SessionKeeper, Speaker, TargetEvents, TargetMessage } from './target.ts';

interface OpenStream {
  listening: Listening;
  /** The resources that it was opened for last. */
  uris: ReadonlySet<string>;
  /** The change of the subscriptions up to which it knows them. */
  revision: number;
  isAcknowledged: boolean;
}

export function followSubscriptions(
  parts: TargetParts,
  speaker: Speaker,
  sessions: SessionKeeper,
  filter: ListenFilter,
  events: TargetEvents,
): Listening {
  return new FollowingStream(parts, speaker, sessions, filter, events);
}

class FollowingStream implements Listening {
  readonly #parts: TargetParts;
  readonly #speaker: Speaker;
  readonly #sessions: SessionKeeper;
  readonly #filter: ListenFilter;
  readonly #events: TargetEvents;
  readonly #stopWatching: () => void;
  #current: OpenStream;
  /** It takes the place of the current one. */
  #next: OpenStream | undefined;
  /** Changes of the subscriptions so far. */
  #revision = 0;
  /** Those who wait until a stream knows the last change. */
  #followed: PromiseWithResolvers<boolean> | undefined;
  #isOver = false;

  constructor(
    parts: TargetParts,
    speaker: Speaker,
    sessions: SessionKeeper,
    filter: ListenFilter,
    events: TargetEvents,
  ) {
    this.#parts = parts;
    this.#speaker = speaker;
    this.#sessions = sessions;
    this.#filter = filter;
    this.#events = events;
    this.#stopWatching = sessions.wishes.watch(sessions.name, parts.config.name, () => this.#follow());
    this.#current = this.#open();
  }

  resume(): void {
    this.#current.listening.resume();
    this.#next?.listening.resume();
  }

  hurry(): void {
    this.#current.listening.hurry();
    this.#next?.listening.hurry();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWatching();
    this.#current.listening.abort(true);
    this.#next?.listening.abort(true);
    this.#followed?.resolve(true);
  }

  #open(): OpenStream {
    const opened: Omit<OpenStream, 'listening'> = { uris: new Set(), revision: -1, isAcknowledged: false };
    const readFilter = (): ListenFilter => {
      opened.revision = this.#revision;
      opened.uris = new Set([...this.#filter.uris, ...this.#listUris()]);
      return { ...this.#filter, uris: [...opened.uris] };
    };
    const listening = listenModern(
      this.#parts,
      this.#speaker,
      readFilter,
      {
        onMessage: (message) => this.#isUnwanted(opened, message) || this.#events.onMessage(message),
        onEnd: () => this.#onOver(stream, () => this.#events.onEnd()),
        onFailure: (failure) => this.#onOver(stream, () => this.#events.onFailure(failure)),
      },
      () => this.#onAcknowledged(stream),
    );
    const stream: OpenStream = Object.assign(opened, { listening });
    return stream;
  }

  /** What the client has unsubscribed from may still come on a stream that was opened before. */
  #isUnwanted({ uris }: Pick<OpenStream, 'uris'>, { text, method }: TargetMessage): boolean {
    if (method !== 'notifications/resources/updated') return false;
    const json = readMember(text, ['params', 'uri']);
    const uri: unknown = json === undefined ? undefined : JSON.parse(json);
    // The parts of a resource that was subscribed to are in no list.
    return typeof uri === 'string' && uris.has(uri) && !this.#filter.uris.includes(uri) && !this.#listUris().has(uri);
  }

  #listUris(): ReadonlySet<string> {
    return this.#sessions.wishes.listUris(this.#sessions.name, this.#parts.config.name);
  }

  #follow(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(true);
    this.#revision += 1;
    this.#followed ??= Promise.withResolvers<boolean>();
    // One that begins may know it already; its acknowledgement shows that.
    if (this.#next === undefined && this.#current.isAcknowledged) this.#next = this.#open();
    return this.#followed.promise;
  }

  #onAcknowledged(stream: OpenStream): void {
    if (this.#isOver) return;
    stream.isAcknowledged = true;
    if (stream === this.#next) {
      this.#current.listening.abort(true);
      this.#current = stream;
      this.#next = undefined;
    }
    if (stream.revision !== this.#revision) {
      this.#next ??= this.#open();
      return;
    }
    this.#settle(true);
  }

  #settle(hasFollowed: boolean): void {
    this.#followed?.resolve(hasFollowed);
    this.#followed = undefined;
  }

  /** The server has no such stream, or refuses it. */
  #onOver(stream: OpenStream, report: () => void): void {
    if (this.#isOver) return;
    // The one that is there goes on, without what came last.
    if (stream === this.#next) {
      this.#next = undefined;
      return this.#settle(false);
    }
    this.abort();
    report();
  }
}
