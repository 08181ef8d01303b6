// Sessions at a server up to 2025-11-25 for clients of 2026-07-28, which have none: one per caller, clientInfo and capabilities, made when first needed and
// ended when idle. Callers that nobody knows get one for each request.
import { createHash } from 'node:crypto';
import { type BegunSession, beginSession, endSession, logBegunAgain, newestLegacyVersion } from './legacy-session.ts';
import { reduceCapabilities } from './modern-request.ts';
import type { ReadMessage } from './read-messages.ts';
import type { Sender, TargetParts } from './target-parts.ts';
import type { Speaker, TargetFailure, TargetSession } from './target.ts';

/** How many there may be at one target. */
const maxShared = 1_000;
/** How long one is kept after its last use. */
const idleMs = 300_000;
const lookEveryMs = 30_000;

/** Who hears what a server says in a shared session. */
export interface SharedListener {
  /** `refused`: the resources that the server does not tell of. */
  onOpen(refused: ReadonlySet<string>): void;
  onMessage(message: ReadMessage): void;
  onEnd(): void;
  onFailure(failure: TargetFailure): void;
}

/** The one stream of a shared session. */
export interface SharedStream {
  /** One more listens. */
  join(listener: SharedListener, uris: readonly string[]): void;
  hurry(): void;
  close(): void;
}

export class SharedSession {
  readonly key: string | undefined;
  readonly listeners = new Set<SharedListener>();
  /** URIs that streams want to hear of, and how many of them. */
  readonly uris = new Map<string, number>();
  /** The stream of the session, while somebody listens. */
  stream: SharedStream | undefined;
  /** Who used it last: its end is told in that name. */
  sender: Sender;
  /** Requests and streams that use it. */
  users = 0;
  idleSince = 0;
  begun: Promise<BegunSession> | undefined;
  #lastId = 0;

  constructor(key: string | undefined, sender: Sender) {
    this.key = key;
    this.sender = sender;
  }

  /** JSON of an id that no other request of this session has. */
  nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  tell(message: ReadMessage): void {
    for (const listener of this.listeners) listener.onMessage(message);
  }
}

export class SharedSessions {
  readonly #parts: TargetParts;
  readonly #timeoutMs: number;
  readonly #clock: () => number;
  readonly #byKey = new Map<string, SharedSession>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: TargetParts, timeoutMs: number) {
    this.#parts = parts;
    this.#timeoutMs = timeoutMs;
    this.#clock = parts.clock ?? (() => performance.now());
  }

  /** The session for this client; `release` it once. Whether it has begun shows `open`. */
  use(speaker: Speaker): SharedSession {
    const key = keyOf(speaker);
    let shared = key === undefined ? undefined : this.#byKey.get(key);
    if (shared === undefined) {
      const isKept = key !== undefined && (this.#byKey.size < maxShared || this.#dropIdle());
      shared = new SharedSession(isKept ? key : undefined, speaker);
      if (isKept) this.#byKey.set(key, shared);
    } else {
      // In the order of last use.
      this.#byKey.delete(shared.key!);
      this.#byKey.set(shared.key!, shared);
      shared.sender = speaker;
    }
    shared.users += 1;
    this.#watch();
    return shared;
  }

  /** Begins the session where it has not begun, or in place of the one that the server has forgotten. Once for all who ask at the same time. */
  open(shared: SharedSession, speaker: Speaker, lost: TargetSession | undefined): Promise<BegunSession> {
    const current = shared.begun;
    if (current === undefined) return this.#start(shared, speaker, false);
    return current.then((begun) => {
      if (!begun.ok || lost === undefined || begun.session.id !== lost.id) return begun;
      const next = shared.begun;
      return next === undefined || next === current ? this.#start(shared, speaker, true) : next;
    });
  }

  release(shared: SharedSession): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.idleSince = this.#clock();
    if (shared.key === undefined) this.#end(shared);
  }

  /** Ends them all. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const shared of this.#byKey.values()) this.#end(shared);
    this.#byKey.clear();
  }

  #start(shared: SharedSession, speaker: Speaker, isAgain: boolean): Promise<BegunSession> {
    const begun = this.#begin(speaker);
    shared.begun = begun;
    const forget = (): void => void (shared.begun === begun && (shared.begun = undefined));
    begun.then(({ ok }) => {
      if (!ok) forget();
      else if (isAgain) logBegunAgain(this.#parts);
    }, forget);
    return begun;
  }

  #begin(speaker: Speaker): Promise<BegunSession> {
    const { clientInfo } = speaker;
    const capabilities = reduceCapabilities(speaker.capabilities);
    return beginSession(
      this.#parts,
      speaker,
      { version: newestLegacyVersion, clientInfo, capabilities },
      this.#timeoutMs,
    );
  }

  #dropIdle(): boolean {
    for (const [key, shared] of this.#byKey) {
      if (shared.users > 0) continue;
      this.#byKey.delete(key);
      this.#end(shared);
      return true;
    }
    return false;
  }

  #watch(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  #look(): void {
    const before = this.#clock() - idleMs;
    for (const [key, shared] of this.#byKey) {
      if (shared.users > 0 || shared.idleSince > before) continue;
      this.#byKey.delete(key);
      this.#end(shared);
    }
    if (this.#byKey.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #end(shared: SharedSession): void {
    void shared.begun?.then((begun) => {
      if (begun.ok) return endSession(this.#parts, shared.sender, begun.session, this.#timeoutMs);
      return undefined;
    });
  }
}

function keyOf({ owner, clientInfo = '', capabilities }: Speaker): string | undefined {
  if (owner === undefined) return undefined;
  const said = JSON.stringify([owner, clientInfo, reduceCapabilities(capabilities)]);
  return createHash('sha256').update(said).digest('base64');
}
