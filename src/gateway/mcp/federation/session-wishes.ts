// What clients up to 2025-11-25 ask for once, for the rest of their session: the level of logs, and the resources whose changes they want to hear of. Servers of their
// versions keep it themselves; servers of 2026-07-28 are told with every request and every stream. Bounded, and known to one process: another one, or this one after it has
// forgotten, knows it when the client asks again.

export interface WishLimits {
  /** Sessions that have wishes. Those with an open stream are not forgotten, so there can be more. */
  readonly sessions: number;
  /** URIs of one session at one target: they all go into the request for its stream. */
  readonly uris: number;
  /** Characters of one URI. */
  readonly uriLength: number;
  /** Characters of all URIs. */
  readonly characters: number;
  /** Characters of all URIs of one caller, so that nobody takes the room of all others. */
  readonly ownCharacters: number;
  /** How long a session without requests and streams is remembered. */
  readonly idleMs: number;
}

export const defaultWishLimits: WishLimits = {
  sessions: 10_000,
  uris: 256,
  uriLength: 2_048,
  characters: 16_777_216,
  ownCharacters: 1_048_576,
  idleMs: 86_400_000,
};

/** Why a subscription cannot be kept. */
export type WishObstacle =
  | 'too-long'
  | 'too-many'
  /** The process keeps too much for others. */
  | 'full'
  /** The client has ended the session. */
  | 'ended';

export type Subscribed =
  /** `followed`: the open streams of the session have it too; false: a server refused a stream with it. */
  { readonly ok: true; readonly followed: Promise<boolean> } | { readonly ok: false; readonly obstacle: WishObstacle };

interface Wishes {
  logLevel: string | undefined;
  /** The servers' own URIs, by target. */
  readonly uris: Map<string, Set<string>>;
  characters: number;
  /** Whose they are; undefined: nobody knows. */
  owner: string | undefined;
  usedAtMs: number;
}

/** A stream of a session at one target. */
interface Watcher {
  readonly target: string;
  /** The URIs have changed; resolves when the stream has followed. False: it cannot. */
  readonly follow: () => Promise<boolean>;
}

export interface WishTableParts {
  /** Whether the client has ended this session. */
  readonly isEnded: (session: string) => boolean;
  readonly limits?: Partial<WishLimits>;
  /** Milliseconds of a clock that never goes back. */
  readonly clock?: () => number;
}

const none: ReadonlySet<string> = new Set();

/** By the name that a session has inside its id. */
export class WishTable {
  readonly limits: WishLimits;
  readonly #isEnded: (session: string) => boolean;
  readonly #clock: () => number;
  /** In the order of last use. */
  readonly #wishes = new Map<string, Wishes>();
  readonly #watchers = new Map<string, Set<Watcher>>();
  #characters = 0;
  /** The same by caller. */
  readonly #ownCharacters = new Map<string, number>();

  constructor({ isEnded, limits, clock = () => performance.now() }: WishTableParts) {
    this.limits = { ...defaultWishLimits, ...limits };
    this.#isEnded = isEnded;
    this.#clock = clock;
  }

  /** Sessions that have wishes. */
  get size(): number {
    return this.#wishes.size;
  }

  findLevel(session: string): string | undefined {
    return this.#find(session)?.logLevel;
  }

  setLevel(session: string, level: string): void {
    if (!this.#isEnded(session)) this.#open(session).logLevel = level;
  }

  listUris(session: string, target: string): ReadonlySet<string> {
    return this.#find(session)?.uris.get(target) ?? none;
  }

  /** Why `subscribe` would fail; undefined: it would not. */
  findObstacle(session: string, target: string, uri: string, owner?: string): WishObstacle | undefined {
    if (this.#isEnded(session)) return 'ended';
    if (uri.length > this.limits.uriLength) return 'too-long';
    const known = this.listUris(session, target);
    if (known.has(uri)) return undefined;
    if (known.size >= this.limits.uris) return 'too-many';
    const own = owner === undefined ? 0 : (this.#ownCharacters.get(owner) ?? 0);
    if (own + uri.length > this.limits.ownCharacters) return 'full';
    return this.#makeRoom(session, uri.length) ? undefined : 'full';
  }

  subscribe(session: string, target: string, uri: string, owner?: string): Subscribed {
    const obstacle = this.findObstacle(session, target, uri, owner);
    if (obstacle !== undefined) return { ok: false, obstacle };
    const wishes = this.#open(session);
    wishes.owner = owner;
    const uris = wishes.uris.get(target) ?? new Set();
    wishes.uris.set(target, uris);
    if (!uris.has(uri)) {
      uris.add(uri);
      this.#count(wishes, uri.length);
    }
    return { ok: true, followed: this.#follow(session, target) };
  }

  /** False: there was no such subscription. */
  unsubscribe(session: string, target: string, uri: string): boolean {
    const wishes = this.#find(session);
    const uris = wishes?.uris.get(target);
    if (wishes === undefined || uris?.delete(uri) !== true) return false;
    this.#count(wishes, -uri.length);
    if (uris.size === 0) wishes.uris.delete(target);
    void this.#follow(session, target);
    return true;
  }

  /** A stream wants to know of changes at this target; call the result when it ends. Meanwhile the session is not forgotten. */
  watch(session: string, target: string, follow: () => Promise<boolean>): () => void {
    const watcher: Watcher = { target, follow };
    const watchers = this.#watchers.get(session) ?? new Set();
    this.#watchers.set(session, watchers.add(watcher));
    return () => {
      // The time without a stream begins.
      this.#find(session);
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(session) === watchers) this.#watchers.delete(session);
    };
  }

  forget(session: string): void {
    const wishes = this.#wishes.get(session);
    if (wishes === undefined) return;
    this.#wishes.delete(session);
    this.#count(wishes, -wishes.characters);
  }

  #find(session: string): Wishes | undefined {
    const wishes = this.#wishes.get(session);
    if (wishes === undefined) return undefined;
    const now = this.#clock();
    if (this.#isIdle(session, wishes, now)) {
      this.forget(session);
      return undefined;
    }
    wishes.usedAtMs = now;
    this.#wishes.delete(session);
    this.#wishes.set(session, wishes);
    return wishes;
  }

  #open(session: string): Wishes {
    const known = this.#find(session);
    if (known !== undefined) return known;
    const now = this.#clock();
    for (const [name, wishes] of this.#wishes) {
      if (this.#watchers.has(name)) continue;
      if (this.#wishes.size < this.limits.sessions && !this.#isIdle(name, wishes, now)) break;
      this.forget(name);
    }
    const wishes: Wishes = { logLevel: undefined, uris: new Map(), characters: 0, owner: undefined, usedAtMs: now };
    this.#wishes.set(session, wishes);
    return wishes;
  }

  #isIdle(session: string, { usedAtMs }: Wishes, now: number): boolean {
    return now - usedAtMs >= this.limits.idleMs && !this.#watchers.has(session);
  }

  #count(wishes: Wishes, characters: number): void {
    wishes.characters += characters;
    this.#characters += characters;
    if (wishes.owner === undefined) return;
    const own = (this.#ownCharacters.get(wishes.owner) ?? 0) + characters;
    if (own > 0) this.#ownCharacters.set(wishes.owner, own);
    else this.#ownCharacters.delete(wishes.owner);
  }

  /** Forgets other sessions, the longest unused first, until there is room. False: all that is left has open streams. */
  #makeRoom(session: string, characters: number): boolean {
    const most = this.limits.characters - characters;
    if (this.#characters <= most) return true;
    for (const [name, wishes] of this.#wishes) {
      if (name === session || wishes.characters === 0 || this.#watchers.has(name)) continue;
      this.forget(name);
      if (this.#characters <= most) return true;
    }
    return false;
  }

  async #follow(session: string, target: string): Promise<boolean> {
    const watchers = [...(this.#watchers.get(session) ?? [])].filter((watcher) => watcher.target === target);
    const followed = await Promise.all(watchers.map(({ follow }) => follow()));
    return followed.every(Boolean);
  }
}
