// List-watches that belong together: several kinds of one namespace, or of all of them. What they hold is shown together, once all of them are synced,
// so that a route is never shown without the policy that protects it.
import type { Kind } from '../../api/kinds.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { KubernetesClient, KubernetesObject } from '../../kubernetes/client.ts';
import {
  type ListWatch,
  type ListWatchTiming,
  type RelistReason,
  startListWatch,
  type SyncState,
} from '../../kubernetes/list-watch.ts';
import { type CachedObject, cacheObject } from './cached-object.ts';
import { formatObjectKey, splitObjectKey } from './object-key.ts';
import type { WatchedKind } from './watched-kinds.ts';

export interface WatchGroupOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly kinds: readonly WatchedKind[];
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Which namespaces count, where all are read; the rest is dropped before it is looked at. Undefined: every one. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** What is known of an object elsewhere, so that it is not parsed again. */
  readonly findElsewhere: (kind: Kind, key: string) => CachedObject | undefined;
  /** After an object changed, came or went, with the version of that. */
  readonly onObject: (
    kind: Kind,
    key: string,
    before: CachedObject | undefined,
    resourceVersion: string | undefined,
  ) => void;
  /** After the state of one of the list-watches changed. `found`: the kind was not installed, and is read now; `recovered`: it failed before. */
  readonly onState: (change: 'found' | 'recovered' | 'other') => void;
  /** After a watch was opened. */
  readonly onFollowing: () => void;
  readonly onRelist: (kind: Kind, reason: RelistReason) => void;
  readonly timing: Partial<ListWatchTiming>;
  readonly clock: Clock;
  readonly random: () => number;
}

interface GroupMember {
  readonly watched: WatchedKind;
  readonly watch: ListWatch;
}

export class WatchGroup {
  readonly namespace: string | undefined;
  readonly #namespaces: Set<string> | undefined;
  readonly #objects = new Map<Kind, Map<string, CachedObject>>();
  readonly #members: GroupMember[] = [];
  #isStopped = false;

  constructor(options: WatchGroupOptions) {
    this.namespace = options.namespace;
    this.#namespaces = options.namespaces === undefined ? undefined : new Set(options.namespaces);
    for (const watched of options.kinds) {
      this.#objects.set(watched.kind, new Map());
      this.#members.push({ watched, watch: this.#start(watched, options) });
    }
  }

  get members(): readonly GroupMember[] {
    return this.#members;
  }

  /**
   * Every kind is known, and its changes are on their way. A kind that cannot be followed at the moment is as it was some time ago: what others say
   * since then may need what is missing of it, a new route its policy.
   */
  get isSettled(): boolean {
    return this.#members.every(({ watch }) => watch.isFollowing && isKnown(watch.state));
  }

  /** Some kind cannot be followed because the right is missing. */
  get isForbidden(): boolean {
    return this.#members.some(({ watch }) => watch.isForbidden);
  }

  /** Every kind was known once. */
  get wasSynced(): boolean {
    return this.#members.every(
      ({ watch }) => isKnown(watch.state) || (watch.state.state === 'failing' && watch.state.wasSynced),
    );
  }

  find(kind: Kind, key: string): CachedObject | undefined {
    return this.#objects.get(kind)?.get(key);
  }

  covers(namespace: string): boolean {
    if (this.namespace !== undefined) return this.namespace === namespace;
    return this.#namespaces?.has(namespace) ?? true;
  }

  /** Calls back for every object, or for every one of a namespace. */
  forEach(visit: (kind: Kind, key: string) => void, namespace?: string): void {
    for (const [kind, objects] of this.#objects)
      for (const key of objects.keys())
        if (namespace === undefined || splitObjectKey(key).namespace === namespace) visit(kind, key);
  }

  /** Drops a namespace. It cannot come back: later changes in it are not tracked. */
  dropNamespace(namespace: string): void {
    this.#namespaces?.delete(namespace);
    this.forEach((kind, key) => this.#objects.get(kind)?.delete(key), namespace);
  }

  /** Polls now for kinds that were not installed. */
  lookAgain(): void {
    for (const { watch } of this.#members) watch.lookAgain();
  }

  /** Cuts long backoffs short. */
  hurry(): void {
    for (const { watch } of this.#members) watch.hurry();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#members.map(({ watch }) => watch.stop()));
  }

  #start(watched: WatchedKind, options: WatchGroupOptions): ListWatch {
    const { kind, type, otherVersions, metadataOnly, fieldSelector } = watched;
    const objects = this.#objects.get(kind)!;
    const counts = ({ metadata }: KubernetesObject): boolean =>
      !this.#isStopped &&
      (this.#namespaces === undefined || !type.namespaced || this.#namespaces.has(metadata.namespace ?? ''));
    let wasMissing = false;
    let wasFailing = false;
    return startListWatch({
      client: options.client,
      type,
      otherVersions,
      scope: { namespace: type.namespaced ? options.namespace : undefined, metadataOnly, fieldSelector },
      log: options.log.child({ kind }),
      timing: options.timing,
      clock: options.clock,
      random: options.random,
      onChange(object) {
        if (!counts(object)) return;
        const key = formatObjectKey(object.metadata.namespace, object.metadata.name);
        const before = objects.get(key);
        objects.set(key, cacheObject(watched, object, before ?? options.findElsewhere(kind, key)));
        options.onObject(kind, key, before, object.metadata.resourceVersion);
      },
      onGone(object) {
        if (!counts(object)) return;
        const key = formatObjectKey(object.metadata.namespace, object.metadata.name);
        const before = objects.get(key);
        if (objects.delete(key)) options.onObject(kind, key, before, object.metadata.resourceVersion);
      },
      onState({ state }) {
        const change = state !== 'synced' ? 'other' : wasMissing ? 'found' : wasFailing ? 'recovered' : 'other';
        if (state === 'not-installed') wasMissing = true;
        else if (state === 'synced') wasMissing = false;
        wasFailing = state === 'failing';
        options.onState(change);
      },
      onFollowing: options.onFollowing,
      onRelist: (reason) => options.onRelist(kind, reason),
    });
  }
}

function isKnown({ state }: SyncState): boolean {
  return state === 'synced' || state === 'not-installed';
}
