// Keeps the objects of one kind and scope up to date: list, then watch from there, with bookmarks; resumes by resourceVersion, lists again after 410 Gone,
// backs off with jitter after failures, and reports when it is synced.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
import { type Backoff, createBackoff } from '../base/backoff.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, type KubernetesClient, type KubernetesObject, type Scope, type WatchEvent } from './client.ts';
import { createKnownObjects, type KnownObjects, type Relist } from './known-objects.ts';
import { listAllPages } from './list-pages.ts';
import { describeCollection } from './request-path.ts';
import type { ResourceType } from './resource-type.ts';

/**
 * Why everything is listed again. `expired`: the server no longer has the changes since the last seen version (410). `not_served`: it does not
 * know the kind at the moment. `refused`: it refused the watch several times in a row. `better_version`: the kind may be served at a better version.
 */
export type RelistReason = (typeof relistReasons)[number];
export const relistReasons = ['expired', 'not_served', 'refused', 'better_version'] as const;

/** The state of a list-watch. */
export type SyncState =
  | { readonly state: 'syncing' }
  | { readonly state: 'synced' }
  /** The kind is not installed: there are no objects of it. Polled until it is. */
  | { readonly state: 'not-installed' }
  /** The last attempt failed; objects stay as last seen. */
  | { readonly state: 'failing'; readonly wasSynced: boolean; readonly reason: string };

export interface ListWatchOptions {
  readonly client: KubernetesClient;
  readonly type: ResourceType;
  /** Versions to fall back to if the type's own version is not served, best first. */
  readonly otherVersions?: readonly string[];
  readonly scope: Scope;
  readonly log: Log;
  /**
   * Called for every new or changed object; never with managedFields. Synchronous. An object that was created anew under its name is
   * reported as deleted first.
   */
  readonly onChange: (object: KubernetesObject) => void;
  /**
   * Called for every deleted object, also after a relist, with its apiVersion, kind and identifying metadata. The resourceVersion is
   * that of the deletion, or if the deletion was not seen, the last one of the object.
   */
  readonly onGone: (object: KubernetesObject) => void;
  /** Called when the state has changed, after the callbacks for its objects. */
  readonly onState: (state: SyncState) => void;
  /** Called each time a watch has opened: changes since the last watch are about to come. */
  readonly onFollowing?: () => void;
  /** Called each time all objects have to be listed again. */
  readonly onRelist?: (reason: RelistReason) => void;
  readonly timing?: Partial<ListWatchTiming>;
  readonly random?: () => number;
  readonly clock?: Clock;
}

/** All in milliseconds. */
export interface ListWatchTiming {
  /** Between failures: up to this after the first, twice as much after the next... */
  readonly firstRetryMs: number;
  /** ...up to this. */
  readonly maxRetryMs: number;
  /** The poll interval for a kind that is not installed: once to twice this. */
  readonly lookAgainMs: number;
  /** A kind counts as not installed if it is still missing after this: a server that is just starting may not serve it yet. */
  readonly confirmMs: number;
  /** The idle timeout of a watch. Bookmarks come about once a minute. */
  readonly silenceMs: number;
}

export interface ListWatch {
  readonly state: SyncState;
  /** Changes arrive as they happen: a watch is open, or the kind is not installed. False between two watches. */
  readonly isFollowing: boolean;
  /** The last attempt failed because the right to list or watch is missing. */
  readonly isForbidden: boolean;
  /** How many objects there are. */
  readonly size: number;
  /** The version that is read. */
  readonly version: string;
  /** Polls now for a kind that is not served; if it had no objects, the state is syncing until the response comes. */
  lookAgain(): void;
  /** Cuts a long backoff short, because the server answers again; not a delay that the server asked for. */
  hurry(): void;
  /** Makes no more callbacks; resolves when all requests have ended. */
  stop(): Promise<void>;
}

const defaultTiming: ListWatchTiming = {
  firstRetryMs: 500,
  maxRetryMs: 10_000,
  lookAgainMs: 5_000,
  confirmMs: 1_000,
  silenceMs: 150_000,
};

/** A watch that ends sooner than this without an event counts as a failure. */
const shortWatchMs = 1_000;

/** After this many refused watches in a row everything is listed again: the server may have been restored from a backup and not know the version. */
const watchTriesBeforeRelist = 4;

/** Starts at once. */
export function startListWatch(options: ListWatchOptions): ListWatch {
  const watch = new RunningListWatch(options);
  watch.start();
  return watch;
}

class RunningListWatch implements ListWatch {
  readonly #options: ListWatchOptions;
  readonly #timing: ListWatchTiming;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #known: KnownObjects;
  readonly #types: readonly ResourceType[];
  readonly #stop = new AbortController();
  #type: ResourceType;
  #state: SyncState = { state: 'syncing' };
  /** Whether the objects were ever known completely, or the kind was known to be not installed. */
  #wasSynced = false;
  /** Where to go on watching; undefined: list first. */
  #resourceVersion: string | undefined;
  #isOpen = false;
  /** Whether the last failure was a refusal by rights. */
  #isForbidden = false;
  /** How often in a row the kind was missing. */
  #missing = 0;
  #wake: (() => void) | undefined;
  #hurry: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = createBackoff({
      firstMs: this.#timing.firstRetryMs,
      maxMs: this.#timing.maxRetryMs,
      random: this.#random,
    });
    const { type, otherVersions = [] } = options;
    this.#type = type;
    this.#types = [type, ...otherVersions.map((version) => ({ ...type, version }))];
    this.#known = createKnownObjects(options.onChange, options.onGone);
  }

  get state(): SyncState {
    return this.#state;
  }

  get isFollowing(): boolean {
    return this.#isOpen || this.#state.state === 'not-installed';
  }

  get isForbidden(): boolean {
    return this.#state.state === 'failing' && this.#isForbidden;
  }

  get size(): number {
    return this.#known.size;
  }

  get version(): string {
    return this.#type.version;
  }

  start(): void {
    this.#running = this.#run();
  }

  lookAgain(): void {
    if (this.#state.state === 'not-installed') this.#setState({ state: 'syncing' });
    else if (this.#missing === 0) return;
    this.#wake?.();
  }

  hurry(): void {
    this.#hurry?.();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        if (this.#resourceVersion === undefined) await this.#list();
        else await this.#watch(this.#resourceVersion);
      } catch (error) {
        if (!this.#isStopped()) await this.#recover(error);
      }
    }
  }

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Lists the kind at the first version that is served. */
  async #list(): Promise<void> {
    const { client, scope } = this.#options;
    for (const type of this.#types) {
      try {
        const resourceVersion = await listAllPages(client, type, scope, this.#stop.signal, () => this.#beginRelist());
        this.#type = type;
        this.#resourceVersion = resourceVersion;
        this.#missing = 0;
        this.#noteSynced();
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status.code !== 404) throw error;
      }
    }
    await this.#handleMissing();
  }

  #beginRelist(): Relist {
    const relist = this.#known.beginRelist();
    return {
      see: (object) => {
        // The kind is served now: its objects are not known before the list has ended.
        if (this.#state.state === 'not-installed') {
          this.#wasSynced = false;
          this.#setState({ state: 'syncing' });
        }
        relist.see(object);
      },
      end: () => relist.end(),
    };
  }

  /**
   * The kind is not served. When its CRD is deleted, the server first deletes every object and reports that on the watch. Objects that
   * are still known were probably not deleted: our version may have been switched off, or the server may be wrong. They stay.
   */
  async #handleMissing(): Promise<void> {
    const { log, scope } = this.#options;
    this.#missing += 1;
    const isConfirmed = this.#missing > 1;
    const waitMs = isConfirmed ? this.#timing.lookAgainMs * (1 + this.#random()) : this.#timing.confirmMs;
    if (this.#known.size > 0) {
      this.#fail(
        `the API server no longer serves ${describeCollection(this.#type, scope)}; the last known objects stay in use`,
      );
    } else if (isConfirmed) {
      this.#wasSynced = true;
      this.#backoff.reset();
      if (this.#missing === 2)
        log.debug({ kind: this.#type.kind, group: this.#type.group }, 'the kind is not installed');
      this.#setState({ state: 'not-installed' });
    }
    await this.#pause(waitMs, this.#known.size > 0);
  }

  /** One watch, until the server ends it. */
  async #watch(resourceVersion: string): Promise<void> {
    const { client, scope } = this.#options;
    const startedMs = this.#clock.now();
    const own = new AbortController();
    const follow = (): void => own.abort(this.#stop.signal.reason);
    this.#stop.signal.addEventListener('abort', follow, { once: true });
    let cancelTimer = (): void => {};
    const expectLife = (): void => {
      cancelTimer();
      const { silenceMs } = this.#timing;
      cancelTimer = this.#clock.setTimer(
        () => own.abort(new Error('no event or bookmark came for too long')),
        silenceMs,
      );
    };
    let count = 0;
    let isOpen = false;
    try {
      const events = client.watch(this.#type, scope, resourceVersion, own.signal, () => {
        isOpen = true;
        this.#isOpen = true;
        expectLife();
        this.#noteSynced();
        if (!this.#isStopped()) this.#options.onFollowing?.();
      });
      for await (const event of events) {
        if (this.#isStopped()) return;
        expectLife();
        this.#take(event);
        this.#backoff.reset();
        count += 1;
      }
    } finally {
      this.#isOpen = false;
      cancelTimer();
      this.#stop.signal.removeEventListener('abort', follow);
      if (isOpen && this.#clock.now() - startedMs >= shortWatchMs) this.#backoff.reset();
    }
    // A better version may be served by now.
    if (this.#type !== this.#types[0]) this.#listAgain('better_version');
    if (count === 0 && this.#clock.now() - startedMs < shortWatchMs) await this.#pause(this.#backoff.next());
  }

  #take(event: WatchEvent): void {
    switch (event.type) {
      case 'ERROR':
        throw new ApiError(
          `cannot watch ${describeCollection(this.#type, this.#options.scope)}: ${event.status.message}`,
          event.status,
        );
      case 'ADDED':
      case 'MODIFIED':
        this.#known.change(event.object);
        break;
      case 'DELETED':
        this.#known.remove(event.object);
        break;
      case 'BOOKMARK':
        break;
    }
    // After the callbacks: if one of them throws, the event comes again.
    this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  /** Decides what to try after a failure, and when. */
  async #recover(error: unknown): Promise<void> {
    const status = error instanceof ApiError ? error.status : undefined;
    const wasWatching = this.#resourceVersion !== undefined;
    const isFirst = this.#backoff.tries === 0;
    if (wasWatching && (status?.code === 410 || status?.code === 404)) {
      this.#listAgain(status.code === 410 ? 'expired' : 'not_served');
      const waitMs = this.#backoff.next();
      // The first time at once; after that with backoff.
      if (!isFirst) await this.#pause(waitMs);
      return;
    }
    this.#isForbidden = status?.code === 403;
    const message = error instanceof Error ? error.message : String(error);
    const waitMs = this.#backoff.next(status?.retryAfterSeconds);
    if (wasWatching && status !== undefined && this.#backoff.tries >= watchTriesBeforeRelist)
      this.#listAgain('refused');
    this.#options.log.debug(
      { reason: message, waitMs: Math.round(waitMs) },
      'a list or watch of the API server failed',
    );
    // A broken connection is normal; failing to connect again is not.
    if (!wasWatching || !isFirst || status !== undefined) this.#fail(message);
    await this.#pause(waitMs, status?.retryAfterSeconds === undefined);
  }

  #listAgain(reason: RelistReason): void {
    this.#resourceVersion = undefined;
    if (!this.#isStopped()) this.#options.onRelist?.(reason);
  }

  #fail(reason: string): void {
    this.#setState({ state: 'failing', wasSynced: this.#wasSynced, reason });
  }

  #noteSynced(): void {
    if (this.#isStopped()) return;
    this.#wasSynced = true;
    this.#setState({ state: 'synced' });
  }

  #setState(state: SyncState): void {
    const before = this.#state;
    const isSame =
      before.state === state.state &&
      (before.state !== 'failing' ||
        (state.state === 'failing' && before.reason === state.reason && before.wasSynced === state.wasSynced));
    if (isSame || this.#isStopped()) return;
    this.#state = state;
    this.#options.onState(state);
  }

  /** Waits; `#wake` and `#hurry` end it early. */
  async #pause(ms: number, canHurry = false): Promise<void> {
    if (this.#isStopped()) return;
    const { firstRetryMs } = this.#timing;
    await new Promise<void>((resolve) => {
      let cancel = this.#clock.setTimer(resolve, ms);
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (!canHurry || ms <= firstRetryMs) return;
      this.#hurry = () => {
        this.#hurry = undefined;
        cancel();
        cancel = this.#clock.setTimer(resolve, this.#random() * firstRetryMs);
      };
    });
    this.#wake = undefined;
    this.#hurry = undefined;
  }
}
