// Writes statuses to the API server: only those that differ, only while this replica leads, several concurrently, and with retries. Each write has the
// version that it is based on as a precondition; after a conflict the object is read again, and what other writers wrote is kept.
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

interface StatusWriterOptions {
  readonly client: Pick<KubernetesClient, 'get' | 'replaceStatus'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: StatusObserver;
  /** The object from the cache; undefined: it does not exist, or its namespace is not selected. */
  readonly findStatus: (kind: StatusKind, namespace: string, name: string) => SeenStatus | undefined;
  /** Called right before each write: another replica may have taken over while this process was paused. */
  readonly isLeading: () => boolean;
  readonly concurrency?: number;
}

/** Counts for /metrics. */
export interface StatusObserver {
  statusWritten(kind: StatusKind): void;
  statusConflicted(kind: StatusKind): void;
  statusFailed(kind: StatusKind): void;
}

/** What the writer needs to know in addition to the statuses. */
export interface StatusContext {
  /** namespace/name of every route and policy in the selected namespaces: entries of ours in them without a reason are removed. */
  readonly listNames: (kind: 'HTTPRoute' | 'ProxyPolicy') => Iterable<string>;
  /** Why we no longer manage a Gateway; undefined: it was deleted. */
  readonly explainRelease: (gateway: string) => GatewayRelease | undefined;
  /** Whether the namespace is selected. */
  readonly isSelected: (namespace: string) => boolean;
}

/** Why an existing Gateway is no longer ours to manage. */
export interface GatewayRelease {
  readonly message: string;
  /** Another controller may have written the status meanwhile: our conditions are changed only if they are still there unchanged. */
  readonly isOfAnother: boolean;
}

/** An object whose status we write. */
export interface WrittenObject {
  readonly kind: StatusKind;
  readonly namespace: string;
  readonly name: string;
}

type DesiredStatus = WrittenObject &
  (
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
/** The interval between two checks of the leadership. */
const leaderPollMs = 500;

const kinds = Object.keys(lists) as readonly StatusKind[];
const done: WorkOutcome = { done: true };

/** Keeps the statuses in the API server as they were last set. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  readonly #desired = new Map<string, DesiredStatus>();
  /** The statuses that were set last; each of them has a desired write. */
  readonly #last: Partial<Record<StatusKind, Readonly<Record<string, OwnStatuses[StatusKind]>>>> = {};
  /** What we wrote, while the cache still has `basis`, which is older. */
  readonly #written = new Map<string, { readonly basis: string; readonly seen: SeenStatus }>();
  /** Keys whose cached object is known to be outdated. */
  readonly #stale = new Set<string>();
  readonly #loggedErrors = new Map<string, string>();
  /** How often the same status was written in a row: more than once means that another program changes it back. */
  readonly #repairs = new Map<
    string,
    { readonly desired: DesiredStatus; readonly count: number; readonly at: number }
  >();
  #context: StatusContext | undefined;
  #isStarted = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      concurrency: options.concurrency ?? 16,
      clock: options.clock,
      random: options.random,
      run: (key, failures, signal) => this.#write(key, failures, signal),
      onBug: (key, error) => options.log.error({ err: error, object: key }, 'a status could not be computed'),
    });
  }

  /** The number of statuses that wait to be written. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Sets the desired statuses. The set is complete: a status that was in the last set and is not in this one is withdrawn. */
  setStatuses(statuses: Statuses, context: StatusContext): void {
    const isFirst = this.#context === undefined;
    this.#context = context;
    for (const kind of kinds) {
      const last = this.#last[kind] ?? {};
      const desired: Readonly<Record<string, OwnStatuses[StatusKind]>> = statuses[lists[kind]];
      // Usually one of thousands changed: statuses that are the same objects are skipped.
      if (desired === last) continue;
      this.#last[kind] = desired;
      for (const name in desired) if (desired[name] !== last[name]) this.#setDesired(`${kind}/${name}`, desired[name]!);
      for (const name in last) if (!Object.hasOwn(desired, name)) this.#release(`${kind}/${name}`, context);
    }
    if (isFirst && this.#isStarted) this.#removeLeftovers(context);
  }

  /**
   * Removes our part of the status of an object that is in none of the statuses that are set, because its namespace is not selected. `release`: of a Gateway, which
   * is told why.
   */
  takeBack(object: WrittenObject, release?: GatewayRelease): void {
    const key = formatKey(object);
    if (this.#desired.has(key)) return;
    this.#desired.set(
      key,
      release === undefined
        ? { ...object, remove: true, mustRead: true }
        : { ...object, suspend: release, conditions: [], mustRead: true },
    );
    this.#enqueue(key);
  }

  /** Whether nothing is left to be taken back from these objects. */
  hasTakenBack(objects: readonly WrittenObject[]): boolean {
    return objects.every((object) => {
      const desired = this.#desired.get(formatKey(object));
      return desired === undefined || 'say' in desired;
    });
  }

  /** Called when the object changed: our part of its status may be gone. */
  recheck(kind: string, namespace: string, name: string): void {
    const key = namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
    if (this.#desired.has(key)) this.#enqueue(key);
  }

  /** Called when this replica leads: compares all statuses, and writes those that differ. */
  start(): void {
    this.#isStarted = true;
    for (const key of this.#desired.keys()) this.#queue.add(key);
    if (this.#context !== undefined) this.#removeLeftovers(this.#context);
  }

  /** Called when another replica may lead: stops writing. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#written.clear();
    this.#stale.clear();
    await this.#queue.clear();
  }

  #setDesired(key: string, status: OwnStatuses[StatusKind]): void {
    const previous = this.#desired.get(key);
    if (previous !== undefined && 'say' in previous && isDeepStrictEqual(previous.say, status)) return;
    this.#desired.set(key, { ...readKey(key), say: status });
    this.#enqueue(key);
  }

  #enqueue(key: string): void {
    if (this.#isStarted) this.#queue.add(key);
  }

  // Entries that an earlier leader wrote and that have no reason any more.
  #removeLeftovers({ listNames }: StatusContext): void {
    for (const kind of ['HTTPRoute', 'ProxyPolicy'] as const) {
      for (const name of listNames(kind)) {
        const key = `${kind}/${name}`;
        if (this.#desired.has(key)) continue;
        const desired = readKey(key);
        const seen = this.#options.findStatus(kind, desired.namespace, desired.name);
        if (seen === undefined || !hasOwnEntries(kind, seen.status, controllerName)) continue;
        this.#desired.set(key, { ...desired, remove: true, mustRead: false });
        this.#queue.add(key);
      }
    }
  }

  #release(key: string, { explainRelease, isSelected }: StatusContext): void {
    const desired = this.#desired.get(key)!;
    if (!('say' in desired)) return;
    const { kind, namespace, name } = desired;
    const mustRead = namespace !== '' && !isSelected(namespace);
    const release = kind === 'Gateway' ? explainRelease(`${namespace}/${name}`) : undefined;
    if (!this.#isStarted || (!mustRead && this.#options.findStatus(kind, namespace, name) === undefined)) {
      this.#forget(key);
    } else if (release !== undefined) {
      const { conditions } = desired.say as OwnStatuses['Gateway'];
      this.#desired.set(key, { kind, namespace, name, suspend: release, conditions, mustRead });
      this.#enqueue(key);
    } else if (hasEntries(kind) || kind === 'ProxyBackend') {
      this.#desired.set(key, { kind, namespace, name, remove: true, mustRead });
      this.#enqueue(key);
    } else {
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#desired.delete(key);
    this.#written.delete(key);
    this.#stale.delete(key);
    this.#loggedErrors.delete(key);
    this.#repairs.delete(key);
  }

  async #write(key: string, failures: number, signal: AbortSignal): Promise<WorkOutcome> {
    const desired = this.#desired.get(key);
    if (desired === undefined || !this.#isStarted) return done;
    const { kind, namespace, name } = desired;
    try {
      const seen = await this.#findSeen(key, desired, signal);
      const status = seen === undefined ? undefined : this.#merge(desired, seen);
      if (seen !== undefined && status !== undefined && !isDeepStrictEqual(status, seen.status)) {
        const waitMs = this.#findRepairWait(key, desired);
        if (waitMs > 0) return { done: false, afterMs: waitMs };
        if (!this.#isStarted) return done;
        // Checked here, with no await between the check and the write. If we do lead after all, `start` is not called again: so poll.
        if (!this.#options.isLeading()) return { done: false, afterMs: leaderPollMs };
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
        this.#remember(key, desired, answer, [cachedVersion, seen.resourceVersion]);
        this.#noteRepair(key, desired);
      }
      this.#loggedErrors.delete(key);
      if (!('say' in desired) && this.#desired.get(key) === desired) this.#forget(key);
      return done;
    } catch (error) {
      if (signal.aborted) return done;
      return this.#handleFailure(key, desired, failures, error);
    }
  }

  async #findSeen(key: string, desired: DesiredStatus, signal: AbortSignal): Promise<SeenStatus | undefined> {
    const { kind, namespace, name } = desired;
    if (this.#stale.has(key) || ('mustRead' in desired && desired.mustRead)) {
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

  #merge(desired: DesiredStatus, seen: SeenStatus): Readonly<Record<string, unknown>> | undefined {
    const now = new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const context = { controllerName, namespace: desired.namespace, now };
    if ('suspend' in desired) {
      const { message, isOfAnother } = desired.suspend;
      if (isOfAnother && !hasConditions(seen.status, desired.conditions)) return undefined;
      return suspendGateway(seen.status, message, seen.generation, now);
    }
    if ('remove' in desired) {
      const { kind } = desired;
      if (hasEntries(kind) && !hasOwnEntries(kind, seen.status, controllerName)) return undefined;
      return mergeStatus(kind, seen.status, undefined, context);
    }
    // None of our Gateways routes to this pool: there is nothing to write, but maybe an old entry to remove.
    if (desired.kind === 'InferencePool') {
      const { parents } = desired.say as OwnStatuses['InferencePool'];
      if (parents.length === 0 && !hasOwnEntries(desired.kind, seen.status, controllerName)) return undefined;
    }
    // The object was created anew under the same name since the translation: the next round handles it.
    if (readGeneration(desired.say) > seen.generation) return undefined;
    return mergeStatus(desired.kind, seen.status, desired.say, context);
  }

  /** Two programs that overwrite each other's status must not do it at full speed. */
  #findRepairWait(key: string, desired: DesiredStatus): number {
    const known = this.#repairs.get(key);
    if (known?.desired !== desired || known.count === 0) return 0;
    return known.at + findBackoffDelay(known.count, repairBackoff) - this.#options.clock.now();
  }

  #noteRepair(key: string, desired: DesiredStatus): void {
    const known = this.#repairs.get(key);
    const at = this.#options.clock.now();
    const isAgain = known?.desired === desired && at - known.at < calmMs;
    this.#repairs.set(key, { desired, count: isAgain ? known.count + 1 : 0, at });
  }

  /** `older`: versions that are known to precede our write. */
  #remember(
    key: string,
    { kind, namespace, name }: DesiredStatus,
    answer: KubernetesObject,
    older: readonly (string | undefined)[],
  ): void {
    const basis = this.#options.findStatus(kind, namespace, name)?.resourceVersion;
    // The watch may have been faster than the answer: then the cache has our status already, or that of a later writer.
    if (basis === undefined || !older.includes(basis)) this.#written.delete(key);
    else this.#written.set(key, { basis, seen: readSeen(answer) });
  }

  #handleFailure(key: string, desired: DesiredStatus, failures: number, error: unknown): WorkOutcome {
    const { kind } = desired;
    const { log, observer } = this.#options;
    const reason = error instanceof ApiError ? error.status.reason : '';
    this.#stale.add(key);
    if (reason === 'NotFound') {
      // The object was deleted.
      this.#stale.delete(key);
      this.#written.delete(key);
      if (!('say' in desired)) this.#forget(key);
      return done;
    }
    if (reason === 'Conflict') {
      observer.statusConflicted(kind);
      return { done: false, afterMs: failures === 0 ? 0 : findBackoffDelay(failures, conflictBackoff) };
    }
    observer.statusFailed(kind);
    const message = error instanceof Error ? error.message : String(error);
    if (this.#loggedErrors.get(key) !== message) {
      this.#loggedErrors.set(key, message);
      log.warn({ object: key, reason: message }, 'a status could not be written; it is tried again');
    }
    const askedMs = error instanceof ApiError ? (error.status.retryAfterSeconds ?? 0) * 1_000 : 0;
    // A wrong status misleads people: nobody may postpone it for longer than the backoff would.
    const retryAfterMs = Math.min(askedMs, failureBackoff.maxMs);
    return { done: false, afterMs: Math.max(retryAfterMs, findBackoffDelay(failures, failureBackoff)) };
  }
}

function formatKey({ kind, namespace, name }: WrittenObject): string {
  return namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

function readKey(key: string): WrittenObject {
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
