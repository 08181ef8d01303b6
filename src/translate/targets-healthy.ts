// The condition TargetsHealthy of a ProxyBackend with several servers: which of them are down, as its gateways see them. A server is down when any process says so.
import type { Configuration } from '../ir/configuration.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { createCondition, type Condition, type ProxyBackendStatus, type Statuses } from './conditions.ts';
import type { GatewayFacts, TargetFacts } from './gateway-facts.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

/** A server as it is configured. */
export interface ConfiguredTarget {
  readonly name: string;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
}

/** What gateways report of one backend. */
interface BackendReports {
  /** Those of the Gateways that report. */
  readonly processes: number;
  readonly targets: ReadonlyMap<string, TargetFacts>;
}

/** Errors that the message of a condition has; of further servers it has the names. */
const maxErrors = 10;

/** The condition as long as no gateway has reported anything. */
export function describeUnaskedTargets(targets: readonly ConfiguredTarget[], generation: number): Condition {
  return describeTargets(targets, undefined, generation);
}

/** The statuses of ProxyBackends with what gateways report. */
export function describeTargetHealth(
  statuses: Statuses['proxyBackends'],
  { backends }: Configuration,
  facts: ReadonlyMap<string, GatewayFacts>,
): Statuses['proxyBackends'] {
  const reports = collectReports(facts);
  if (reports.size === 0) return statuses;
  const changed: Record<string, ProxyBackendStatus> = {};
  for (const { key, targets } of listFederations(backends)) {
    const own = reports.get(key);
    const name = key.slice(proxyBackendPrefix.length);
    const status = own && statuses[name];
    if (status === undefined) continue;
    const { conditions } = status;
    const generation = findCondition(conditions, 'Accepted')?.observedGeneration ?? 0;
    const described = replaceHealth(status, describeTargets(targets, own, generation));
    if (described !== status) changed[name] = described;
  }
  return Object.keys(changed).length === 0 ? statuses : { ...statuses, ...changed };
}

const proxyBackendPrefix = formatProxyBackendKey('', '').slice(0, -1);

const replaceHealth = createStatusMaker((status: ProxyBackendStatus, condition: Condition) => ({
  ...status,
  conditions: replaceCondition(status.conditions, condition),
}));

function describeTargets(
  targets: readonly ConfiguredTarget[],
  reports: BackendReports | undefined,
  generation: number,
): Condition {
  const all = targets.length;
  const down: string[] = [];
  const unasked: string[] = [];
  for (const { name, problem } of targets) {
    const own = reports?.targets.get(name);
    if (problem !== undefined) down.push(down.length < maxErrors ? `${name}: ${problem}` : name);
    else if (own === undefined) unasked.push(name);
    else if (own.down > 0) {
      const where = own.down >= reports!.processes ? '' : `, ${own.down} of ${reports!.processes} gateway processes`;
      const what = `${name} (since ${formatTime(own.since)}${where}): ${own.error}`;
      down.push(down.length < maxErrors ? what : name);
    }
  }
  if (down.length > 0) {
    const count = all === 1 ? 'The server is down' : `${down.length} of ${all} servers ${verb(down.length)} down`;
    return createCondition(
      'proxyBackend',
      'TargetsHealthy',
      'False',
      'TargetsDown',
      `${count}: ${down.join('; ')}`,
      generation,
    );
  }
  if (unasked.length > 0) {
    const message = `Not asked yet: ${unasked.join(', ')}. Gateways connect when the first client does.`;
    return createCondition('proxyBackend', 'TargetsHealthy', 'Unknown', 'NotAskedYet', message, generation);
  }
  const message = all === 1 ? 'The server is up.' : `All ${all} servers are up.`;
  return createCondition('proxyBackend', 'TargetsHealthy', 'True', 'AllUp', message, generation);
}

function verb(count: number): string {
  return count === 1 ? 'is' : 'are';
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** By key of the backend. Several Gateways may lead to one. */
function collectReports(facts: ReadonlyMap<string, GatewayFacts>): ReadonlyMap<string, BackendReports> {
  const reports = new Map<string, BackendReports>();
  for (const { processes, targets } of facts.values()) {
    for (const [backend, own] of targets ?? []) {
      const known = reports.get(backend);
      reports.set(
        backend,
        known === undefined
          ? { processes, targets: own }
          : { processes: known.processes + processes, targets: joinTargets(known.targets, own) },
      );
    }
  }
  return reports;
}

function joinTargets(
  left: ReadonlyMap<string, TargetFacts>,
  right: ReadonlyMap<string, TargetFacts>,
): ReadonlyMap<string, TargetFacts> {
  const joined = new Map(left);
  for (const [name, own] of right) {
    const known = left.get(name);
    joined.set(name, known === undefined ? own : joinTargetFacts(known, own));
  }
  return joined;
}

/** Two views of one server: that of the process that lost it first counts. */
export function joinTargetFacts(left: TargetFacts, right: TargetFacts): TargetFacts {
  if (left.down === 0 || right.down === 0) return left.down === 0 ? right : left;
  const [first] = left.since <= right.since ? [left] : [right];
  return { ...first, down: left.down + right.down };
}

interface Federation {
  readonly key: string;
  readonly targets: readonly ConfiguredTarget[];
}

const known = new WeakMap<Configuration['backends'], readonly Federation[]>();

/** Cached by the list: of thousands of backends few are federations. */
function listFederations(backends: Configuration['backends']): readonly Federation[] {
  let found = known.get(backends);
  if (found === undefined) {
    found = backends.flatMap(({ key, kind }) => {
      if (kind.case !== 'federation') return [];
      const targets = kind.value.targets.map(({ server, failure }) => ({
        name: server?.name ?? '',
        problem: failure?.message,
      }));
      return [{ key, targets }];
    });
    known.set(backends, found);
  }
  return found;
}
