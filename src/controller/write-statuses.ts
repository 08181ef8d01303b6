// Writes statuses to the API server: only what differs, only while this replica leads, several at once, and again until it is there. Each write has the
// version that it is based on as a precondition; a conflict means that somebody else was faster, and their words are read and kept.
import { isDeepStrictEqual } from 'node:util';
import { controllerName } from '../api/gateway-class.ts';
import { findBackoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { formatApiVersion, resourceTypes } from '../kubernetes/resource-type.ts';
import type { SeenStatus } from '../sources/kubernetes/kubernetes-source.ts';
import type { Condition, Statuses } from '../translate/conditions.ts';
import {
  hasConditions,
  hasEntries,
  hasOwnEntries,
  mergeStatus,
  type OwnStatuses,
  type StatusKind,
  suspendGateway,
} from './merge-status.ts';
import { WorkQueue, type WorkOutcome } from './work-queue.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubernetesClient, 'get' | 'replaceStatus'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: StatusObserver;
  /** The object as the caches have it; undefined: it is not there, or not looked after. */
  readonly findStatus: (kind: StatusKind, namespace: string, name: string) => SeenStatus | undefined;
  /** Asked right before each write: another replica may have taken over while this process was stopped. */
  readonly isLeading: () => boolean;
  readonly concurrency?: number;
}

/** Counts for /metrics. */
export interface StatusObserver {
  statusWritten(kind: StatusKind): void;
  statusConflicted(kind: StatusKind): void;
  statusFailed(kind: StatusKind): void;
}

/** What is known beside the statuses when they are set. */
export interface StatusSurroundings {
  /** namespace/name of every route and policy that is looked after: entries of ours in them that nothing stands behind are removed. */
  readonly listNames: (kind: 'HTTPRoute' | 'ProxyPolicy') => Iterable<string>;
  /** Why we have nothing to say about a Gateway any more; undefined: it is gone. */
  readonly explainRelease: (gateway: string) => GatewayRelease | undefined;
  /** Whether objects of the namespace are looked after. */
  readonly isSelected: (namespace: string) => boolean;
}

/** A Gateway that exists and is not ours to look after any more. */
export interface GatewayRelease {
  readonly message: string;
  /** Another controller may have written its status meanwhile: ours is changed only if it is still there word by word. */
  readonly isOfAnother: boolean;
}

type Wish = { readonly kind: StatusKind; readonly namespace: string; readonly name: string } & (
  | { readonly say: OwnStatuses[StatusKind] }
  | { readonly remove: true; readonly mustRead: boolean }
  | { readonly suspend: GatewayRelease; readonly conditions: readonly Condition[]; readonly mustRead: boolean }
);

const lists = {
  GatewayClass: 'gatewayClasses',
  Gateway: 'gateways',
  HTTPRoute: 'httpRoutes',
  ProxyBackend: 'proxyBackends',
  ProxyPolicy: 'proxyPolicies',
  InferencePool: 'inferencePools',
} as const satisfies Record<StatusKind, keyof Statuses>;

const repairBackoff = { firstMs: 20, maxMs: 5_000 };
const conflictBackoff = { firstMs: 5, maxMs: 250 };
const failureBackoff = { firstMs: 200, maxMs: 30_000 };
const calmMs = 60_000;
/** Between two looks at whether we lead after all. */
const leaderLookMs = 500;

const kinds = Object.keys(lists) as readonly StatusKind[];
const done: WorkOutcome = { done: true };

/** Keeps the statuses in the API server as they were last set. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  readonly #wishes = new Map<string, Wish>();
  /** What was set last: for each of them there is a wish that says it. */
  readonly #said: Partial<Record<StatusKind, Readonly<Record<string, OwnStatuses[StatusKind]>>>> = {};
  /** What we wrote, until the caches have moved on from `basis`, which is older. */
  readonly #written = new Map<string, { readonly basis: string; readonly seen: SeenStatus }>();
  /** Keys whose cached form is known to be old. */
  readonly #stale = new Set<string>();
  readonly #complaints = new Map<string, string>();
  /** How often a wish was written in a row: more than once means that somebody changes it back. */
  readonly #repairs = new Map<string, { readonly wish: Wish; readonly count: number; readonly at: number }>();
  #surroundings: StatusSurroundings | undefined;
  #isStarted = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      concurrency: options.concurrency ?? 16,
      clock: options.clock,
      random: options.random,
      run: (key, failures, signal) => this.#write(key, failures, signal),
      onMistake: (key, error) => options.log.error({ err: error, object: key }, 'a status could not be worked out'),
    });
  }

  /** Statuses that are not as they should be yet. */
  get pending(): number {
    return this.#queue.size;
  }

  /** From now on statuses are to be these. Complete: what was there before and is not in it is taken back. */
  setStatuses(statuses: Statuses, surroundings: StatusSurroundings): void {
    const isFirst = this.#surroundings === undefined;
    this.#surroundings = surroundings;
    for (const kind of kinds) {
      const said = this.#said[kind] ?? {};
      const wanted: Readonly<Record<string, OwnStatuses[StatusKind]>> = statuses[lists[kind]];
      // One change is one among thousands: what is the same object is passed over.
      if (wanted === said) continue;
      this.#said[kind] = wanted;
      for (const name in wanted) if (wanted[name] !== said[name]) this.#wish(`${kind}/${name}`, wanted[name]!);
      for (const name in said) if (!Object.hasOwn(wanted, name)) this.#release(`${kind}/${name}`, surroundings);
    }
    if (isFirst && this.#isStarted) this.#removeLeftovers(surroundings);
  }

  /** Somebody wrote the object: what we said may be gone. */
  recheck(kind: string, namespace: string, name: string): void {
    const key = namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
    if (this.#wishes.has(key)) this.#enqueue(key);
  }

  /** This replica leads: everything is looked at, and written where it differs. */
  start(): void {
    this.#isStarted = true;
    for (const key of this.#wishes.keys()) this.#queue.add(key);
    if (this.#surroundings !== undefined) this.#removeLeftovers(this.#surroundings);
  }

  /** Another one may lead: nothing is written from now on. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#written.clear();
    this.#stale.clear();
    await this.#queue.clear();
  }

  #wish(key: string, status: OwnStatuses[StatusKind]): void {
    const previous = this.#wishes.get(key);
    if (previous !== undefined && 'say' in previous && isDeepStrictEqual(previous.say, status)) return;
    this.#wishes.set(key, { ...readKey(key), say: status });
    this.#enqueue(key);
  }

  #enqueue(key: string): void {
    if (this.#isStarted) this.#queue.add(key);
  }

  // What an earlier leader wrote, and what nobody stands behind now.
  #removeLeftovers({ listNames }: StatusSurroundings): void {
    for (const kind of ['HTTPRoute', 'ProxyPolicy'] as const) {
      for (const name of listNames(kind)) {
        const key = `${kind}/${name}`;
        if (this.#wishes.has(key)) continue;
        const wish = readKey(key);
        const seen = this.#options.findStatus(kind, wish.namespace, wish.name);
        if (seen === undefined || !hasOwnEntries(kind, seen.status, controllerName)) continue;
        this.#wishes.set(key, { ...wish, remove: true, mustRead: false });
        this.#queue.add(key);
      }
    }
  }

  #release(key: string, { explainRelease, isSelected }: StatusSurroundings): void {
    const wish = this.#wishes.get(key)!;
    if (!('say' in wish)) return;
    const { kind, namespace, name } = wish;
    const mustRead = namespace !== '' && !isSelected(namespace);
    const release = kind === 'Gateway' ? explainRelease(`${namespace}/${name}`) : undefined;
    if (!this.#isStarted || (!mustRead && this.#options.findStatus(kind, namespace, name) === undefined)) {
      this.#forget(key);
    } else if (release !== undefined) {
      const { conditions } = wish.say as OwnStatuses['Gateway'];
      this.#wishes.set(key, { kind, namespace, name, suspend: release, conditions, mustRead });
      this.#enqueue(key);
    } else if (hasEntries(kind) || kind === 'ProxyBackend') {
      this.#wishes.set(key, { kind, namespace, name, remove: true, mustRead });
      this.#enqueue(key);
    } else {
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#wishes.delete(key);
    this.#written.delete(key);
    this.#stale.delete(key);
    this.#complaints.delete(key);
    this.#repairs.delete(key);
  }

  async #write(key: string, failures: number, signal: AbortSignal): Promise<WorkOutcome> {
    const wish = this.#wishes.get(key);
    if (wish === undefined || !this.#isStarted) return done;
    const { kind, namespace, name } = wish;
    try {
      const seen = await this.#findSeen(key, wish, signal);
      const status = seen === undefined ? undefined : this.#merge(wish, seen);
      if (seen !== undefined && status !== undefined && !isDeepStrictEqual(status, seen.status)) {
        const waitMs = this.#findRepairWait(key, wish);
        if (waitMs > 0) return { done: false, afterMs: waitMs };
        if (!this.#isStarted) return done;
        // Checked here, with nothing to wait for between the check and the sending. It may turn out that we do lead: then nobody starts us anew.
        if (!this.#options.isLeading()) return { done: false, afterMs: leaderLookMs };
        const type = resourceTypes[kind];
        const cachedVersion = this.#options.findStatus(kind, namespace, name)?.resourceVersion;
        const answer = await this.#options.client.replaceStatus(
          type,
          {
            apiVersion: formatApiVersion(type),
            kind,
            metadata: {
              name,
              ...(namespace === '' ? {} : { namespace }),
              uid: seen.uid,
              resourceVersion: seen.resourceVersion,
            },
            status,
          },
          signal,
        );
        this.#options.observer.statusWritten(kind);
        this.#remember(key, wish, answer, [cachedVersion, seen.resourceVersion]);
        this.#noteRepair(key, wish);
      }
      this.#complaints.delete(key);
      if (!('say' in wish) && this.#wishes.get(key) === wish) this.#forget(key);
      return done;
    } catch (error) {
      if (signal.aborted) return done;
      return this.#handleFailure(key, wish, failures, error);
    }
  }

  async #findSeen(key: string, wish: Wish, signal: AbortSignal): Promise<SeenStatus | undefined> {
    const { kind, namespace, name } = wish;
    if (this.#stale.has(key) || ('mustRead' in wish && wish.mustRead)) {
      const read = readSeen(
        await this.#options.client.get(resourceTypes[kind], namespace === '' ? { name } : { namespace, name }, signal),
      );
      this.#stale.delete(key);
      return read;
    }
    const cached = this.#options.findStatus(kind, namespace, name);
    const written = this.#written.get(key);
    if (written === undefined || cached === undefined) return cached;
    if (cached.resourceVersion === written.basis) return written.seen;
    this.#written.delete(key);
    return cached;
  }

  #merge(wish: Wish, seen: SeenStatus): Readonly<Record<string, unknown>> | undefined {
    const now = new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const context = { controllerName, namespace: wish.namespace, now };
    if ('suspend' in wish) {
      const { message, isOfAnother } = wish.suspend;
      if (isOfAnother && !hasConditions(seen.status, wish.conditions)) return undefined;
      return suspendGateway(seen.status, message, seen.generation, now);
    }
    if ('remove' in wish) {
      const { kind } = wish;
      if (hasEntries(kind) && !hasOwnEntries(kind, seen.status, controllerName)) return undefined;
      return mergeStatus(kind, seen.status, undefined, context);
    }
    // A pool that none of our Gateways leads to: there is nothing to say, and maybe something to take back.
    if (wish.kind === 'InferencePool') {
      const { parents } = wish.say as OwnStatuses['InferencePool'];
      if (parents.length === 0 && !hasOwnEntries(wish.kind, seen.status, controllerName)) return undefined;
    }
    // Made anew under the same name since it was translated: the next round knows it.
    if (readGeneration(wish.say) > seen.generation) return undefined;
    return mergeStatus(wish.kind, seen.status, wish.say, context);
  }

  /** Two programs that write over each other's words must not do it as fast as they can. */
  #findRepairWait(key: string, wish: Wish): number {
    const known = this.#repairs.get(key);
    if (known?.wish !== wish || known.count === 0) return 0;
    return known.at + findBackoffDelay(known.count, repairBackoff) - this.#options.clock.now();
  }

  #noteRepair(key: string, wish: Wish): void {
    const known = this.#repairs.get(key);
    const at = this.#options.clock.now();
    const isAgain = known?.wish === wish && at - known.at < calmMs;
    this.#repairs.set(key, { wish, count: isAgain ? known.count + 1 : 0, at });
  }

  /** `older`: versions that are known to be from before our write. */
  #remember(
    key: string,
    { kind, namespace, name }: Wish,
    answer: KubernetesObject,
    older: readonly (string | undefined)[],
  ): void {
    const basis = this.#options.findStatus(kind, namespace, name)?.resourceVersion;
    // The watch may have been faster than the answer: then the caches have our words, or already those of somebody who wrote over them.
    if (basis === undefined || !older.includes(basis)) this.#written.delete(key);
    else this.#written.set(key, { basis, seen: readSeen(answer) });
  }

  #handleFailure(key: string, wish: Wish, failures: number, error: unknown): WorkOutcome {
    const { kind } = wish;
    const { log, observer } = this.#options;
    const reason = error instanceof ApiError ? error.status.reason : '';
    this.#stale.add(key);
    if (reason === 'NotFound') {
      // Gone; or not looked after any more, and nothing can be said there.
      this.#stale.delete(key);
      this.#written.delete(key);
      if (!('say' in wish)) this.#forget(key);
      return done;
    }
    if (reason === 'Conflict') {
      observer.statusConflicted(kind);
      return { done: false, afterMs: failures === 0 ? 0 : findBackoffDelay(failures, conflictBackoff) };
    }
    observer.statusFailed(kind);
    const message = error instanceof Error ? error.message : String(error);
    if (this.#complaints.get(key) !== message) {
      this.#complaints.set(key, message);
      log.warn({ object: key, reason: message }, 'a status could not be written; it is tried again');
    }
    const retryAfterMs = error instanceof ApiError ? (error.status.retryAfterSeconds ?? 0) * 1_000 : 0;
    return { done: false, afterMs: Math.max(retryAfterMs, findBackoffDelay(failures, failureBackoff)) };
  }
}

function readKey(key: string): { readonly kind: StatusKind; readonly namespace: string; readonly name: string } {
  const [kind, ...rest] = key.split('/') as [StatusKind, ...string[]];
  return rest.length === 1 ? { kind, namespace: '', name: rest[0]! } : { kind, namespace: rest[0]!, name: rest[1]! };
}

function readSeen({ metadata, status }: KubernetesObject): SeenStatus {
  return {
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    generation: metadata.generation ?? 0,
    status,
  };
}

function readGeneration(own: OwnStatuses[StatusKind]): number {
  const conditions =
    'parents' in own
      ? own.parents.flatMap((parent) => parent.conditions)
      : 'ancestors' in own
        ? own.ancestors.flatMap((ancestor) => ancestor.conditions)
        : own.conditions;
  return Math.max(0, ...conditions.map(({ observedGeneration }) => observedGeneration));
}
