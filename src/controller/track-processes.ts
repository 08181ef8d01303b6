// Gateway processes over time: which of them count for their Gateway, and up to which round each is known to have the configuration. A process that is lost
// counts while its pod takes traffic: it goes on enforcing what it last had.
import type { Clock } from '../base/clock.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import type { GatewayPods } from './gateway-pods.ts';
import type { SnapshotHistory } from './snapshot-history.ts';

/** The inputs. */
export interface ProcessSources {
  readonly connected: readonly ConnectedGateway[];
  readonly relayed: readonly ConnectedGateway[];
  /** By Gateway; one that is missing has no pods that are known. */
  readonly pods: ReadonlyMap<string, GatewayPods>;
}

/** A process that counts for its Gateway. */
export interface TrackedProcess {
  /** The node id: the pod's name. */
  readonly name: string;
  /** As it last was; undefined: its pod takes traffic, and it has not been heard of for longer than the grace period. */
  readonly process: ConnectedGateway | undefined;
  readonly isConnected: boolean;
  /** The last round that it is known to have settled on; 0: none. Undefined: it has just started, and does not count yet. */
  readonly round: number | undefined;
  /** Whether it has been without the present configuration for longer than an update takes. */
  readonly isLate: boolean;
}

interface TrackedProcesses {
  /** By Gateway, sorted by name. */
  readonly processes: ReadonlyMap<string, readonly TrackedProcess[]>;
  /** When time alone may change the result; undefined: it cannot. */
  readonly recheckAt: number | undefined;
}

/**
 * The grace period in which a process counts with its last known state, or is ignored if it has none. Without it statuses would flicker: a process whose
 * replica goes away soon connects to another one, but has not answered there yet; a process that has just started gets no traffic before it has its
 * configuration; and another replica may have coalesced changes differently, so that its gateways are briefly on digests that this replica never had.
 * A process whose pod takes traffic is never ignored.
 */
const graceMs = 10_000;

/** An update takes less than this. Statuses do not name gateways that are only about to answer. */
const lateMs = 2_000;

interface KnownProcess {
  readonly gateway: string;
  readonly name: string;
  readonly process: ConnectedGateway | undefined;
  /** The last round that it is known to have settled on; 0: none, or too long ago. */
  readonly round: number;
  /** Since when it has been disconnected or settled on an unknown digest. */
  readonly lapsedAt: number | undefined;
  /** Since when it has been without the present configuration. */
  readonly behindSince: number | undefined;
  /** When its pod stopped taking traffic: Infinity while it does, -Infinity if it never did. */
  readonly servedUntil: number;
  /** Whether its pod takes traffic, or is not ready and did so within the grace period: a container that has crashed is soon back. */
  readonly isServing: boolean;
}

const noPods: GatewayPods = { serving: new Set(), unready: new Set(), retiring: new Set() };

/** Remembers processes from call to call. */
export class ProcessTracker {
  readonly #history: SnapshotHistory;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, KnownProcess> = new Map();
  #recheckAt: number | undefined;

  constructor(history: SnapshotHistory, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
  }

  track({ connected, relayed, pods }: ProcessSources): TrackedProcesses {
    this.#recheckAt = undefined;
    // A process that moves to another replica is briefly reported by both; our own connection wins.
    const live = new Map([...relayed, ...connected].map((process) => [formatKey(process), process]));
    const occupied = new Set(Array.from(live.values(), ({ gateway }) => gateway));
    const known = new Map<string, KnownProcess>();
    for (const [key, process] of live)
      known.set(key, this.#noteLive(process, this.#known.get(key), pods.get(process.gateway) ?? noPods));
    for (const [key, before] of this.#known) {
      if (live.has(key)) continue;
      const kept = this.#noteLost(before, pods.get(before.gateway) ?? noPods, occupied);
      if (kept !== undefined) known.set(key, kept);
    }
    for (const [gateway, own] of pods) {
      for (const name of own.serving) {
        const key = formatKey({ gateway, nodeId: name });
        if (!known.has(key)) known.set(key, this.#noteUnheard(gateway, name, own));
      }
    }
    this.#known = known;
    const sorted = [...known].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each);
    const processes = new Map<string, TrackedProcess[]>();
    for (const each of sorted) {
      const tracked = this.#describe(each, pods.get(each.gateway) ?? noPods, live);
      if (tracked === undefined) continue;
      const own = processes.get(each.gateway);
      if (own === undefined) processes.set(each.gateway, [tracked]);
      else own.push(tracked);
    }
    return { processes, recheckAt: this.#recheckAt };
  }

  #noteLive(process: ConnectedGateway, before: KnownProcess | undefined, pods: GatewayPods): KnownProcess {
    const { gateway, nodeId: name, settled } = process;
    const found = settled === undefined ? undefined : this.#history.findRound(gateway, settled);
    if (found !== undefined)
      return this.#note({ gateway, name, process, round: found, lapsedAt: undefined }, before, pods);
    const lapsedAt = before?.lapsedAt ?? this.#clock.now();
    const round = this.#isOver(lapsedAt) ? 0 : (before?.round ?? 0);
    return this.#note({ gateway, name, process, round, lapsedAt }, before, pods);
  }

  /** Undefined: it is gone. */
  #noteLost(before: KnownProcess, pods: GatewayPods, occupied: ReadonlySet<string>): KnownProcess | undefined {
    const { gateway, name } = before;
    const lapsedAt = before.lapsedAt ?? this.#clock.now();
    const isOver = this.#isOver(lapsedAt);
    const kept = this.#note({ ...before, lapsedAt }, before, pods);
    if (kept.isServing) {
      if (!isOver) return kept;
      const behindSince = before.behindSince ?? lapsedAt;
      return this.#note({ gateway, name, process: undefined, round: 0, lapsedAt }, { ...before, behindSince }, pods);
    }
    // No grace period if the Gateway has other processes or pods: a rollout must not wait for the pods that it replaced.
    return occupied.has(gateway) || pods.serving.size > 0 || isOver ? undefined : kept;
  }

  /** A pod that takes traffic, and whose process has never been connected as far as we know: it may serve from its snapshot file. */
  #noteUnheard(gateway: string, name: string, pods: GatewayPods): KnownProcess {
    return this.#note({ gateway, name, process: undefined, round: 0, lapsedAt: this.#clock.now() }, undefined, pods);
  }

  #note(
    next: Pick<KnownProcess, 'gateway' | 'name' | 'process' | 'round' | 'lapsedAt'>,
    before: KnownProcess | undefined,
    { serving, unready }: GatewayPods,
  ): KnownProcess {
    const { gateway, name, process, round, lapsedAt } = next;
    const now = this.#clock.now();
    const isBehind = round < this.#history.findPresentRound(gateway);
    const behindSince = isBehind ? (before?.behindSince ?? now) : undefined;
    const servedUntil = serving.has(name) ? Infinity : Math.min(before?.servedUntil ?? -Infinity, now);
    const isServing = serving.has(name) || (unready.has(name) && now - servedUntil < graceMs);
    return { gateway, name, process, round, lapsedAt, behindSince, servedUntil, isServing };
  }

  /** Undefined: it does not count. */
  #describe(
    known: KnownProcess,
    { serving, retiring }: GatewayPods,
    live: ReadonlyMap<string, ConnectedGateway>,
  ): TrackedProcess | undefined {
    const { gateway, name, process, round, lapsedAt, behindSince, servedUntil, isServing } = known;
    const now = this.#clock.now();
    if (isServing && !serving.has(name)) this.#recheckBy(servedUntil + graceMs);
    if (lapsedAt !== undefined && !this.#isOver(lapsedAt)) this.#recheckBy(lapsedAt + graceMs);
    const counts = round > 0 || isServing || (lapsedAt !== undefined && this.#isOver(lapsedAt));
    const isLate = counts && behindSince !== undefined && now - behindSince >= lateMs;
    if (counts && behindSince !== undefined && !isLate) this.#recheckBy(behindSince + lateMs);
    // Its last connections are being drained, and it will not be there for long: a rollout does not wait for its answer.
    if (isLate && retiring.has(name)) return undefined;
    const isConnected = live.has(formatKey({ gateway, nodeId: name }));
    return { name, process, isConnected, round: counts ? round : undefined, isLate };
  }

  #isOver(lapsedAt: number): boolean {
    return this.#clock.now() - lapsedAt >= graceMs;
  }

  #recheckBy(at: number): void {
    this.#recheckAt = Math.min(this.#recheckAt ?? at, at);
  }
}

function formatKey({ gateway, nodeId }: Pick<ConnectedGateway, 'gateway' | 'nodeId'>): string {
  return `${gateway}/${nodeId}`;
}
