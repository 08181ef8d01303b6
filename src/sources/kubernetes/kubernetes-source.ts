// Resources from a cluster: one list-watch per kind, validated object by object, of the selected namespaces.
import { isDeepStrictEqual } from 'node:util';
import type { Extension, Kind } from '../../api/kinds.ts';
import { type LabelSelector, matchesLabels } from '../../api/label-selector.ts';
import { emptyResources, type Resources } from '../../api/resources.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../../base/watchable.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import type { ListWatchTiming, RelistReason } from '../../kubernetes/list-watch.ts';
import type { CachedObject } from './cached-object.ts';
import { ChangeOrder } from './change-order.ts';
import { describeSync } from './describe-sync.ts';
import { listNamespaces, readLabels } from './known-namespaces.ts';
import { NamespaceCoverage } from './namespace-coverage.ts';
import { formatObjectKey, splitObjectKey } from './object-key.ts';
import { createResourceLists, type ResourceLists } from './resource-lists.ts';
import { SecretCoverage } from './secret-coverage.ts';
import { WatchGroup, type WatchGroupOptions } from './watch-group.ts';
import { listWatchedKinds, type WatchedKind, watchedKindsByName } from './watched-kinds.ts';

/** A selector of namespaces: everything in it must hold. */
export interface NamespaceSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

export interface KubernetesSourceOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  /** One of them must select a namespace; none at all: every namespace. */
  readonly namespaceSelectors: readonly NamespaceSelector[];
  /** Always read, whatever the selectors say: where the class parameters and our own Secrets live. */
  readonly installationNamespace: string;
  /** Secrets are read in these namespaces and in the installation namespace only; none: wherever everything else is read. */
  readonly secretsInNamespaces?: readonly string[];
  /** Kinds of other extensions are neither listed nor watched. */
  readonly extensions?: readonly Extension[];
  /** Called each time the objects of a kind have to be listed again. */
  readonly onRelist?: (kind: Kind, reason: RelistReason) => void;
  /** For tests. */
  readonly timing?: Partial<ListWatchTiming & SourceTiming>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** How the source takes its time. */
interface SourceTiming {
  /** A change waits once to twice this for what was made before it and comes over a slower watch; those within it are told as one. */
  readonly settleMs: number;
  /** More selected namespaces than this are watched together, not one by one. */
  readonly maxSeparateNamespaces: number;
}

/** The state of the caches. */
export interface SourceSync {
  /** Everything has been read once. Stays true: after later failures, objects stay as last seen. */
  readonly synced: boolean;
  /** Part of the cluster cannot be watched at the moment. Until it can, all changes are held back: a new route may have a policy that is not seen. */
  readonly isHeld: boolean;
  /** Why not, or what fails or is missing at the moment; for operators. */
  readonly reasons: readonly string[];
  /** Objects held, by kind. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface KubernetesSource {
  /** Changes only when the content does. Resources that did not change are the same objects as before. Empty until synced, still while held. */
  readonly resources: ReadonlyWatchable<Resources>;
  readonly sync: ReadonlyWatchable<SourceSync>;
  /** Names of the selected namespaces; undefined: all. */
  readonly namespaces: ReadonlyWatchable<ReadonlySet<string> | undefined>;
  /** An object as last seen, with what the status writer needs; undefined: there is none. */
  findStatus(kind: string, namespace: string, name: string): SeenStatus | undefined;
  /**
   * Called after an object was created or written, maybe by us, if its kind has a status that matters. An object that replaces another one
   * of its name has no status yet, even where nothing else is new about it. If its content changed too, the resources have changed before.
   */
  onStatusChange(listener: (kind: string, namespace: string, name: string) => void): () => void;
  stop(): Promise<void>;
}

/** What was last seen of an object, without its spec. */
export interface SeenStatus {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly status: unknown;
}

const defaultSettleMs = 15;

/** Starts at once. */
export function startKubernetesSource(options: KubernetesSourceOptions): KubernetesSource {
  return new RunningSource(options);
}

class RunningSource implements KubernetesSource {
  readonly resources = new Watchable<Resources>(emptyResources);
  readonly sync = new Watchable<SourceSync>(
    { synced: false, isHeld: false, reasons: [], counts: {} },
    isDeepStrictEqual,
  );
  readonly namespaces: Watchable<ReadonlySet<string> | undefined>;

  readonly #options: KubernetesSourceOptions;
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #kinds: readonly WatchedKind[];
  readonly #lists: ResourceLists = createResourceLists();
  readonly #order = new ChangeOrder();
  readonly #statusListeners = new Map<symbol, (kind: string, namespace: string, name: string) => void>();
  readonly #writtenStatuses = new Map<Kind, Set<string>>();
  /** Kinds without a namespace, which are always read. */
  readonly #clusterGroup: WatchGroup;
  /** Everything, where there are no selectors. */
  readonly #everywhere: WatchGroup | undefined;
  /** Where there are: what is read of the installation namespace in any case... */
  readonly #installation: WatchGroup | undefined;
  /** ...and the namespaces that are selected. */
  readonly #coverage: NamespaceCoverage | undefined;
  /** Where Secrets are read in named namespaces only: their list-watches. */
  readonly #secrets: SecretCoverage | undefined;
  #selected: ReadonlySet<string> = new Set();
  #isSynced = false;
  #hasNamespaceChanges = true;
  /** When a watch was last opened, among the arrivals. */
  #followingSince = 0;
  #isFailing = false;
  #missing: readonly string[] = [];
  #isStopped = false;
  #cancelFlush: (() => void) | undefined;

  constructor(options: KubernetesSourceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#settleMs = options.timing?.settleMs ?? defaultSettleMs;
    const hasSelectors = options.namespaceSelectors.length > 0;
    this.namespaces = new Watchable<ReadonlySet<string> | undefined>(
      hasSelectors ? new Set() : undefined,
      isDeepStrictEqual,
    );
    this.#kinds = listWatchedKinds(options.extensions ?? []);
    const { secretsInNamespaces = [], installationNamespace } = options;
    const namespacedKinds = this.#kinds.filter(
      ({ type, kind }) => type.namespaced && (kind !== 'Secret' || secretsInNamespaces.length === 0),
    );
    this.#clusterGroup = this.#startGroup({ kinds: this.#kinds.filter(({ type }) => !type.namespaced) });
    if (secretsInNamespaces.length > 0)
      this.#secrets = new SecretCoverage({
        namespaces: secretsInNamespaces,
        installationNamespace,
        log: options.log,
        startGroup: (namespace) => this.#startGroup({ kinds: [watchedKindsByName.get('Secret')!], namespace }),
        onMoved: (kind, key) => this.#show(kind, key),
      });
    if (!hasSelectors) {
      this.#everywhere = this.#startGroup({ kinds: namespacedKinds });
      return;
    }
    this.#installation = this.#startGroup({
      kinds: namespacedKinds.filter(({ isInstallationKind }) => isInstallationKind),
      namespace: installationNamespace,
    });
    this.#coverage = new NamespaceCoverage({
      startGroup: (target) => this.#startGroup({ kinds: namespacedKinds, ...target }),
      onMoved: (kind, key) => this.#show(kind, key),
      onNamespaceMoved: (namespace) => {
        if (namespace === installationNamespace) this.#installation?.forEach((kind, key) => this.#show(kind, key));
        this.#secrets?.findGroup(namespace)?.forEach((kind, key) => this.#show(kind, key));
      },
      maxSeparate: options.timing?.maxSeparateNamespaces ?? 16,
    });
  }

  findStatus(kind: string, namespace: string, name: string): SeenStatus | undefined {
    const watched = watchedKindsByName.get(kind);
    if (watched === undefined) return undefined;
    const found = this.#find(watched.kind, formatObjectKey(watched.type.namespaced ? namespace : '', name));
    if (found === undefined) return undefined;
    const { uid, resourceVersion, generation, status } = found;
    return { uid, resourceVersion, generation, status };
  }

  onStatusChange(listener: (kind: string, namespace: string, name: string) => void): () => void {
    const key = Symbol('subscription');
    this.#statusListeners.set(key, listener);
    return () => void this.#statusListeners.delete(key);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelFlush?.();
    const groups = [this.#clusterGroup, this.#everywhere, this.#installation];
    await Promise.all([...groups.map((group) => group?.stop()), this.#coverage?.stop(), this.#secrets?.stop()]);
  }

  #startGroup(
    target: Pick<WatchGroupOptions, 'kinds'> & Partial<Pick<WatchGroupOptions, 'namespace' | 'namespaces'>>,
  ): WatchGroup {
    const { client, log, random = Math.random, timing = {} } = this.#options;
    const group = new WatchGroup({
      client,
      log,
      namespace: undefined,
      namespaces: undefined,
      ...target,
      timing,
      random,
      clock: this.#clock,
      findElsewhere: (kind, key) => this.#find(kind, key),
      onObject: (kind, key, before, resourceVersion) => this.#noteObject(group, kind, key, before, resourceVersion),
      onState: (change) => this.#noteState(change),
      onFollowing: () => {
        this.#followingSince = this.#order.pass();
        this.#schedule();
      },
      onRelist: (kind, reason) => this.#options.onRelist?.(kind, reason),
    });
    return group;
  }

  /** The group that an object is shown from. */
  #findOwner(kind: Kind, namespace: string): WatchGroup | undefined {
    const watched = watchedKindsByName.get(kind)!;
    if (!watched.type.namespaced) return this.#clusterGroup;
    if (kind === 'Secret' && this.#secrets !== undefined)
      return this.#isShown(namespace) ? this.#secrets.findGroup(namespace) : undefined;
    if (this.#coverage === undefined) return this.#everywhere;
    const owner = this.#coverage.findOwner(namespace);
    if (owner !== undefined || !watched.isInstallationKind) return owner;
    return namespace === this.#options.installationNamespace ? this.#installation : undefined;
  }

  /** Whether a namespace is looked after, or is our own. */
  #isShown(namespace: string): boolean {
    if (this.#coverage === undefined || namespace === this.#options.installationNamespace) return true;
    return this.#coverage.findOwner(namespace) !== undefined;
  }

  /** An object as it is to be shown. */
  #find(kind: Kind, key: string): CachedObject | undefined {
    const { namespace, name } = splitObjectKey(key);
    if (kind === 'Namespace' && this.#coverage?.isSelected(name) === false) return undefined;
    return this.#findOwner(kind, namespace)?.find(kind, key);
  }

  #noteObject(
    group: WatchGroup,
    kind: Kind,
    key: string,
    before: CachedObject | undefined,
    resourceVersion: string | undefined,
  ): void {
    const { keepsStatus } = watchedKindsByName.get(kind)!;
    const now = group.find(kind, key);
    // Written without a relevant change: as nodes do with Pods, and leader elections with their records.
    if (!keepsStatus && now !== undefined && now.outcome === before?.outcome) return;
    if (kind === 'Namespace') this.#hasNamespaceChanges = true;
    if (this.#findOwner(kind, splitObjectKey(key).namespace) === group) {
      this.#order.add({ kind, key, outcome: this.#find(kind, key)?.outcome }, resourceVersion);
      if (keepsStatus && now !== undefined) {
        const keys = this.#writtenStatuses.get(kind) ?? new Set();
        this.#writtenStatuses.set(kind, keys.add(key));
      }
    }
    this.#schedule();
  }

  #noteState(change: 'found' | 'recovered' | 'other'): void {
    for (const group of this.#listGroups()) {
      // Kinds are installed together. The others must not be found only after the routes among these have been shown without their policies.
      if (change === 'found') group.lookAgain();
      // The server answers again: the others need not wait either.
      if (change === 'recovered') group.hurry();
    }
    this.#schedule();
  }

  /** At once: it is not a change of the object. */
  #show(kind: Kind, key: string): void {
    this.#order.drop(kind, key);
    this.#lists.update(kind, key, this.#find(kind, key)?.outcome);
  }

  #listGroups(): readonly WatchGroup[] {
    const own = [this.#clusterGroup, this.#everywhere, this.#installation];
    return [...own, ...(this.#coverage?.groups ?? []), ...(this.#secrets?.groups ?? [])].filter(
      (group) => group !== undefined,
    );
  }

  #schedule(): void {
    if (this.#isStopped) return;
    if (this.#cancelFlush !== undefined) return;
    const { arrivals } = this.#order;
    this.#cancelFlush = this.#clock.setTimer(() => {
      this.#cancelFlush = undefined;
      this.#flush(arrivals);
    }, this.#settleMs);
  }

  /** Tells what had come at that point, and what was made before it, as one change. */
  #flush(arrivals: number): void {
    if (this.#isStopped) return;
    this.#discover();
    this.#coverage?.settle();
    const refused = this.#secrets?.refusedGroups ?? [];
    const states = this.#listGroups().flatMap((group) =>
      refused.includes(group) ? [] : group.members.map(({ watched, watch }) => ({ watched, state: watch.state })),
    );
    const awaited = this.#coverage?.awaited ?? [];
    const hasCaughtUp = this.#followingSince <= arrivals;
    const isReady = hasCaughtUp && this.#isComplete() && (this.#isSynced || awaited.length === 0);
    // What is held back is shown as a whole later: the order does not matter then.
    for (const { kind, key, outcome } of this.#order.take(isReady ? arrivals : Infinity))
      this.#lists.update(kind, key, outcome);
    this.#isSynced ||= isReady;
    if (isReady) {
      if (this.#coverage !== undefined) this.#tell(() => this.namespaces.set(this.#selected));
      this.#tell(() => this.resources.set(this.#buildResources()));
    }
    this.#secrets?.logRefused();
    const reasons = describeSync(states, awaited);
    const counts = Object.fromEntries(this.#kinds.map(({ kind }) => [kind, this.#lists.count(kind)]));
    const isFailing = states.some(({ state }) => state.state === 'failing');
    this.#logReasons(reasons, isFailing);
    if (isReady)
      this.#logMissing(
        describeSync(
          states.filter(({ state }) => state.state === 'not-installed'),
          [],
        ),
      );
    const isHeld = this.#isSynced && !isReady && isFailing;
    this.#tell(() => this.sync.set({ synced: this.#isSynced, isHeld, reasons, counts }));
    if (isReady) this.#tellStatuses();
    if (this.#order.size > 0 || !hasCaughtUp) this.#schedule();
  }

  /** The same object as long as nothing changes. */
  #buildResources(): Resources {
    const built = this.#lists.build();
    return this.#secrets === undefined ? built : this.#secrets.addUnreadable(built, this.resources.get());
  }

  /** Once when it begins and once when it is over, not for every list-watch. */
  #logReasons(reasons: readonly string[], isFailing: boolean): void {
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing)
      this.#options.log.warn({ reasons }, 'the cluster cannot be watched; the last known resources stay in force');
    else this.#options.log.info({}, 'the cluster can be watched again');
  }

  /** Kinds that are not installed do not block syncing, so they are only logged. */
  #logMissing(missing: readonly string[]): void {
    if (isDeepStrictEqual(missing, this.#missing)) return;
    this.#missing = missing;
    const { log } = this.#options;
    if (missing.length > 0) log.warn({ reasons: missing }, 'kinds are not installed; polling until they are');
    else log.info({}, 'all kinds are installed');
  }

  /** A listener that throws must not affect the others. */
  #tell(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a listener of the Kubernetes source failed');
    }
  }

  /** Whether what is shown has no gaps that are about to be filled. */
  #isComplete(): boolean {
    const shown = [this.#clusterGroup, this.#everywhere, this.#installation, ...(this.#coverage?.shownGroups ?? [])];
    return shown.every((group) => group === undefined || group.isSettled) && this.#secrets?.isSettled !== false;
  }

  /** Applies the selectors to the namespaces that there are. */
  #discover(): void {
    if (!this.#hasNamespaceChanges || !this.#clusterGroup.isSettled) return;
    this.#hasNamespaceChanges = false;
    this.#secrets?.follow(listNamespaces(this.#clusterGroup));
    if (this.#coverage === undefined) return;
    const { namespaceSelectors } = this.#options;
    const selected = new Set<string>();
    this.#clusterGroup.forEach((kind, key) => {
      if (kind !== 'Namespace') return;
      const labels = readLabels(this.#clusterGroup.find(kind, key));
      if (namespaceSelectors.some((selector) => matchesLabels(selector as LabelSelector, labels)))
        selected.add(splitObjectKey(key).name);
    });
    const before = this.#selected;
    this.#selected = selected;
    this.#coverage.select(selected);
    for (const name of selected.symmetricDifference(before)) this.#show('Namespace', formatObjectKey('', name));
  }

  #tellStatuses(): void {
    const waiting = this.#order.listWaiting();
    const written = [...this.#writtenStatuses].flatMap(([kind, keys]) =>
      [...keys].filter((key) => waiting.get(kind)?.has(key) !== true).map((key) => ({ kind, key })),
    );
    for (const { kind, key } of written) this.#writtenStatuses.get(kind)?.delete(key);
    for (const { kind, key } of written) {
      const { namespace, name } = splitObjectKey(key);
      if (this.#find(kind, key) === undefined) continue;
      for (const listener of this.#statusListeners.values()) this.#tell(() => listener(kind, namespace, name));
    }
  }
}
