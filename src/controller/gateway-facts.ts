// The observed state of each Gateway: its connected processes, here and at other replicas, and the result of deploying it.
import type { Clock } from '../base/clock.ts';
import type { GatewayFacts, KeysProblem, MessageRejection } from '../translate/gateway-facts.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import { resourceTypes } from '../xds/resource-types.ts';
import type { SnapshotHistory } from './snapshot-history.ts';

/** The result of deploying a Gateway. */
interface DeployedGateway {
  readonly addresses: GatewayFacts['addresses'];
  /** Set: the Gateway could not be deployed. */
  readonly problem: string | undefined;
  /** Set: an address that the Gateway requests is not available. */
  readonly addressProblem: string | undefined;
  /** Set: its pods are being replaced. */
  readonly rollout?: GatewayFacts['rollout'];
}

/** The inputs of the facts. */
export interface FactSources {
  /** namespace/name of every Gateway to describe. */
  readonly gateways: Iterable<string>;
  readonly connected: readonly ConnectedGateway[];
  readonly relayed: readonly ConnectedGateway[];
  /** By Gateway; one that is missing has not been deployed yet. */
  readonly deployed: ReadonlyMap<string, DeployedGateway>;
}

interface CollectedFacts {
  readonly facts: ReadonlyMap<string, GatewayFacts>;
  /** Gateways with a process that has applied what it was sent. */
  readonly settled: ReadonlySet<string>;
  /** When a grace period ends, which may change the facts; undefined: none runs. */
  readonly recheckAfterMs: number | undefined;
}

/**
 * The grace period in which a process counts with its last known state, or is ignored if it has none. Without it statuses would flicker: a process whose
 * replica goes away soon connects to another one, but has not answered there yet; a process that has just started gets no traffic before it has its
 * configuration; and another replica may have coalesced changes differently, so that its gateways are briefly on digests that this replica never had.
 */
const graceMs = 10_000;

const lists = new Map(resourceTypes.map(({ list, typeUrl }) => [typeUrl, list]));
const typeUrls = new Map(resourceTypes.map(({ list, typeUrl }) => [list, typeUrl]));

interface KnownProcess {
  readonly process: ConnectedGateway;
  /** The last round that the process is known to have settled on; 0: none, or too long ago. */
  readonly round: number;
  /** Since when the process has been disconnected or settled on an unknown digest. */
  readonly lapsedAt: number | undefined;
}

interface KnownFacts {
  readonly inputs: readonly unknown[];
  readonly facts: GatewayFacts;
}

/** Collects facts. Facts that did not change are the same objects as before. */
export class FactCollector {
  readonly #history: SnapshotHistory;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownProcess>();
  readonly #facts = new Map<string, KnownFacts>();
  #recheckAt: number | undefined;

  constructor(history: SnapshotHistory, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
  }

  collect({ gateways, connected, relayed, deployed }: FactSources): CollectedFacts {
    this.#recheckAt = undefined;
    const processes = this.#groupProcesses(connected, relayed);
    const names = new Set(gateways);
    for (const name of this.#facts.keys()) if (!names.has(name)) this.#facts.delete(name);
    const facts = new Map<string, GatewayFacts>();
    const settled = new Set<string>();
    for (const name of names) {
      const own = processes.get(name) ?? [];
      const round = this.#findSettledRound(own);
      if (round > 0) settled.add(name);
      const described = this.#describe(name, own, round, deployed.get(name));
      if (described !== undefined) facts.set(name, described);
    }
    const recheckAt: number | undefined = this.#recheckAt;
    return {
      facts,
      settled,
      recheckAfterMs: recheckAt === undefined ? undefined : Math.max(recheckAt - this.#clock.now(), 0),
    };
  }

  #describe(
    gateway: string,
    processes: readonly ConnectedGateway[],
    settledRound: number,
    deployed: DeployedGateway | undefined,
  ): GatewayFacts | undefined {
    if (deployed === undefined && processes.length === 0) return undefined;
    const inputs = [this.#history.findSnapshot(gateway), settledRound, deployed, ...processes.flatMap(listInputs)];
    const known = this.#facts.get(gateway);
    if (known !== undefined && isSame(known.inputs, inputs)) return known.facts;
    const facts: GatewayFacts = {
      addresses: deployed?.addresses ?? [],
      deployProblem: deployed?.problem,
      addressProblem: deployed?.addressProblem,
      processes: processes.length,
      isSettled: (list, key) => this.#history.wasThere(gateway, typeUrls.get(list)!, key, settledRound),
      rejections: this.#collectRejections(gateway, processes),
      keyProblems: collectKeyProblems(processes),
      bindProblems: collectBindProblems(processes),
      rollout: deployed?.rollout,
    };
    this.#facts.set(gateway, { inputs, facts });
    return facts;
  }

  /** The processes by Gateway, each once. A process that moves to another replica is briefly reported by both; our own connection wins. */
  #groupProcesses(
    connected: readonly ConnectedGateway[],
    relayed: readonly ConnectedGateway[],
  ): ReadonlyMap<string, readonly ConnectedGateway[]> {
    const now = this.#clock.now();
    const live = new Map<string, ConnectedGateway>();
    for (const process of [...relayed, ...connected]) live.set(formatKey(process), process);
    const occupied = new Set(Array.from(live.values(), ({ gateway }) => gateway));
    const counted = new Map(live);
    for (const [key, known] of this.#known) {
      if (live.has(key)) continue;
      const { gateway } = known.process;
      const lapsedAt = known.lapsedAt ?? now;
      // No grace period if other processes of the Gateway are connected: a rollout must not wait for the pods that it replaced.
      if (occupied.has(gateway) || now - lapsedAt >= graceMs) this.#known.delete(key);
      else {
        this.#known.set(key, { ...known, lapsedAt });
        counted.set(key, known.process);
        this.#recheckBy(lapsedAt + graceMs);
      }
    }
    for (const [key, process] of live) this.#noteProcess(key, process, now);
    const sorted = [...counted].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, process]) => process);
    return Map.groupBy(sorted, ({ gateway }) => gateway);
  }

  #noteProcess(key: string, process: ConnectedGateway, now: number): void {
    const { gateway, settled } = process;
    const round = settled === undefined ? undefined : this.#history.findRound(gateway, settled);
    if (round !== undefined) {
      this.#known.set(key, { process, round, lapsedAt: undefined });
      return;
    }
    const known = this.#known.get(key);
    const lapsedAt = known?.lapsedAt ?? now;
    const isOver = now - lapsedAt >= graceMs;
    this.#known.set(key, { process, round: isOver ? 0 : (known?.round ?? 0), lapsedAt });
    if (!isOver) this.#recheckBy(lapsedAt + graceMs);
  }

  /** The round that all processes of a Gateway have settled on, without those in their grace period; 0: none is known. */
  #findSettledRound(processes: readonly ConnectedGateway[]): number {
    const now = this.#clock.now();
    const rounds = processes.flatMap((process) => {
      const { round = 0, lapsedAt = now } = this.#known.get(formatKey(process)) ?? {};
      return round > 0 || now - lapsedAt >= graceMs ? [round] : [];
    });
    return rounds.length === 0 ? 0 : Math.min(...rounds);
  }

  #recheckBy(at: number): void {
    this.#recheckAt = Math.min(this.#recheckAt ?? at, at);
  }

  // Rejections of other versions than the present one are outdated.
  #collectRejections(gateway: string, processes: readonly ConnectedGateway[]): readonly MessageRejection[] {
    const resources = this.#history.findSnapshot(gateway)?.resources;
    const counted = new Map<string, { readonly rejection: MessageRejection; count: number }>();
    for (const { typeUrl, name, version, reason } of processes.flatMap(({ rejections }) => rejections)) {
      const list = lists.get(typeUrl);
      const present = resources?.get(typeUrl)?.get(name);
      if (list === undefined || present === undefined || (version !== '' && version !== present.version)) continue;
      count(counted, `${typeUrl}\n${name}`, () => ({ rejection: { list, key: name, reason }, count: 1 }));
    }
    return Array.from(counted.values(), ({ rejection, count: times }) => ({
      ...rejection,
      reason: addCount(rejection.reason, times, processes.length),
    }));
  }
}

function formatKey({ gateway, nodeId }: ConnectedGateway): string {
  return `${gateway}/${nodeId}`;
}

function listInputs({ nodeId, rejections, keyProblems, bindProblems }: ConnectedGateway): readonly unknown[] {
  return [nodeId, rejections, keyProblems, bindProblems];
}

/** Of several processes, one that never loaded keys takes precedence over one that still has earlier keys. */
function collectKeyProblems(processes: readonly ConnectedGateway[]): ReadonlyMap<string, KeysProblem> {
  const problems = new Map<string, KeysProblem>();
  for (const { policy, issuer, reason, neverLoaded } of processes.flatMap(({ keyProblems }) => keyProblems)) {
    const known = problems.get(policy);
    if (known === undefined || (neverLoaded && !known.neverLoaded))
      problems.set(policy, { issuer, reason, neverLoaded });
  }
  return problems;
}

function collectBindProblems(processes: readonly ConnectedGateway[]): ReadonlyMap<number, string> {
  const counted = new Map<number, { readonly reason: string; count: number }>();
  for (const { port, reason } of processes.flatMap(({ bindProblems }) => bindProblems))
    count(counted, port, () => ({ reason, count: 1 }));
  return new Map(
    Array.from(counted, ([port, { reason, count: times }]) => [port, addCount(reason, times, processes.length)]),
  );
}

function count<K, V extends { count: number }>(counted: Map<K, V>, key: K, create: () => V): void {
  const known = counted.get(key);
  if (known === undefined) counted.set(key, create());
  else known.count += 1;
}

/** Adds how many processes report the problem, unless all do. */
function addCount(words: string, times: number, all: number): string {
  return times >= all ? words : `${words} (${times} of ${all} gateway processes)`;
}

function isSame(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((value, index) => Object.is(value, right[index]));
}
