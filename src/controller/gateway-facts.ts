// The observed state of each Gateway: its connected processes, here and at other replicas, its pods that take traffic, and the result of deploying it.
import type { Clock } from '../base/clock.ts';
import type {
  BehindGateway,
  GatewayFacts,
  KeptCertificates,
  KeysProblem,
  MessageRejection,
} from '../translate/gateway-facts.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import { resourceTypes } from '../xds/resource-types.ts';
import { ReportedTargets } from './reported-targets.ts';
import type { SnapshotHistory } from './snapshot-history.ts';
import { type ProcessSources, ProcessTracker, type TrackedProcess } from './track-processes.ts';

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
export interface FactSources extends ProcessSources {
  /** namespace/name of every Gateway to describe. */
  readonly gateways: Iterable<string>;
  /** By Gateway; one that is missing has not been deployed yet. */
  readonly deployed: ReadonlyMap<string, DeployedGateway>;
}

interface CollectedFacts {
  readonly facts: ReadonlyMap<string, GatewayFacts>;
  /** Gateways whose processes have all applied something that they were sent. */
  readonly settled: ReadonlySet<string>;
  /** When a grace period ends, which may change the facts; undefined: none runs. */
  readonly recheckAfterMs: number | undefined;
}

const lists = new Map(resourceTypes.map(({ list, typeUrl }) => [typeUrl, list]));
const typeUrls = new Map(resourceTypes.map(({ list, typeUrl }) => [list, typeUrl]));

interface KnownFacts {
  readonly inputs: readonly unknown[];
  readonly facts: GatewayFacts;
}

/** Collects facts. Facts that did not change are the same objects as before. */
export class FactCollector {
  readonly #history: SnapshotHistory;
  readonly #clock: Clock;
  readonly #tracker: ProcessTracker;
  readonly #targets = new ReportedTargets();
  readonly #facts = new Map<string, KnownFacts>();

  constructor(history: SnapshotHistory, clock: Clock) {
    this.#history = history;
    this.#clock = clock;
    this.#tracker = new ProcessTracker(history, clock);
  }

  collect({ gateways, deployed, ...sources }: FactSources): CollectedFacts {
    const { processes, recheckAt } = this.#tracker.track(sources);
    const names = new Set(gateways);
    for (const name of this.#facts.keys()) if (!names.has(name)) this.#facts.delete(name);
    this.#targets.keepOnly(names);
    const now = this.#clock.now();
    const rechecks = [recheckAt];
    const facts = new Map<string, GatewayFacts>();
    const settled = new Set<string>();
    for (const name of names) {
      const own = processes.get(name) ?? [];
      const round = findSettledRound(own);
      if (round > 0) settled.add(name);
      const connected = own.flatMap(({ process }) => process ?? []);
      const reports = this.#targets.read(name, connected, this.#history.findSnapshot(name), now);
      rechecks.push(reports.recheckAt);
      const described = this.#describe(name, own, round, deployed.get(name), reports.targets);
      if (described !== undefined) facts.set(name, described);
    }
    const first = Math.min(...rechecks.map((at) => at ?? Infinity));
    return { facts, settled, recheckAfterMs: first === Infinity ? undefined : Math.max(first - now, 0) };
  }

  #describe(
    gateway: string,
    tracked: readonly TrackedProcess[],
    settledRound: number,
    deployed: DeployedGateway | undefined,
    targets: GatewayFacts['targets'],
  ): GatewayFacts | undefined {
    if (deployed === undefined && tracked.length === 0) return undefined;
    const inputs = [
      this.#history.findSnapshot(gateway),
      settledRound,
      deployed,
      targets,
      ...tracked.flatMap(listInputs),
    ];
    const known = this.#facts.get(gateway);
    if (known !== undefined && isSame(known.inputs, inputs)) return known.facts;
    const processes = tracked.flatMap(({ process }) => process ?? []);
    const late = tracked.filter(({ isLate }) => isLate);
    const facts: GatewayFacts = {
      addresses: deployed?.addresses ?? [],
      deployProblem: deployed?.problem,
      addressProblem: deployed?.addressProblem,
      processes: tracked.length,
      isSettled: (list, key) => this.#history.wasThere(gateway, typeUrls.get(list)!, key, settledRound),
      behind: late.map(describeBehind),
      listBehind: (list, key) => {
        if (late.length === 0) return [];
        const isBehind = ({ round }: TrackedProcess): boolean =>
          round === undefined || !this.#history.wasThere(gateway, typeUrls.get(list)!, key, round);
        return late.some(isBehind) ? tracked.filter(isBehind).map(describeBehind) : [];
      },
      rejections: this.#collectRejections(gateway, processes),
      keyProblems: collectKeyProblems(processes),
      bindProblems: collectBindProblems(processes),
      rollout: deployed?.rollout,
      keptCertificates: collectKeptCertificates(processes),
      ...(targets !== undefined && { targets }),
    };
    this.#facts.set(gateway, { inputs, facts });
    return facts;
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

/** The round that all processes of a Gateway have settled on, without those that do not count yet; 0: none is known. */
function findSettledRound(processes: readonly TrackedProcess[]): number {
  const rounds = processes.flatMap(({ round }) => round ?? []);
  return rounds.length === 0 ? 0 : Math.min(...rounds);
}

function describeBehind({ name, isConnected }: TrackedProcess): BehindGateway {
  return { name, isConnected };
}

function listInputs({ name, process, isConnected, round, isLate }: TrackedProcess): readonly unknown[] {
  const { rejections, keyProblems, bindProblems, keptCertificates } = process ?? {};
  return [name, isConnected, round, isLate, rejections, keyProblems, bindProblems, keptCertificates];
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

function collectKeptCertificates(processes: readonly ConnectedGateway[]): ReadonlyMap<string, KeptCertificates> {
  const kept = new Map<string, KeptCertificates>();
  for (const { keptCertificates = [] } of processes) {
    for (const [listener, own] of Map.groupBy(keptCertificates, (each) => each.listener)) {
      const known = kept.get(listener) ?? { processes: 0, since: Infinity, expiresAt: Infinity };
      kept.set(listener, {
        processes: known.processes + 1,
        since: Math.min(known.since, ...own.map(({ since }) => since * 1_000)),
        expiresAt: Math.min(known.expiresAt, ...own.map(({ expiresAt }) => expiresAt * 1_000)),
      });
    }
  }
  return kept;
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
