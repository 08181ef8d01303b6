// What gateways report of the servers of federations, by Gateway. A gateway speaks for backends of its own configuration only. What changed waits until the last change
// is a few seconds old: a server that comes and goes, or a hundred gateways that lose one after the other, must not become as many writes to the API server.
import { isDeepStrictEqual } from 'node:util';
import { cutText } from '../base/cut-text.ts';
import { escapeControls } from '../base/terminal.ts';
import type { TargetFacts } from '../translate/gateway-facts.ts';
import { joinTargetFacts } from '../translate/targets-healthy.ts';
import { type ConnectedGateway, maxReportedTargets } from '../xds/connected-gateway.ts';
import { resourceTypes } from '../xds/resource-types.ts';
import type { Snapshot } from '../xds/snapshot.ts';

type GatewayTargets = ReadonlyMap<string, ReadonlyMap<string, TargetFacts>>;

/** The reports on one Gateway. */
interface TargetReports {
  /** The same object as before when nothing changed; undefined: none. */
  readonly targets: GatewayTargets | undefined;
  /** When there is something new to read; undefined: not by time alone. */
  readonly recheckAt: number | undefined;
}

/** A change is told at once when the one before is this old. */
const calmMs = 5_000;
const maxErrorLength = 256;
const backendType = resourceTypes.find(({ list }) => list === 'backends')!.typeUrl;

interface Known {
  readonly inputs: readonly unknown[];
  readonly latest: GatewayTargets | undefined;
  readonly told: GatewayTargets | undefined;
  readonly toldAt: number;
}

/** Remembers what was told of each Gateway. */
export class ReportedTargets {
  readonly #known = new Map<string, Known>();

  read(
    gateway: string,
    processes: readonly ConnectedGateway[],
    snapshot: Snapshot | undefined,
    nowMs: number,
  ): TargetReports {
    const before = this.#known.get(gateway);
    const inputs = [snapshot, ...processes.map(({ targets }) => targets)];
    const isSame = before !== undefined && isSameList(before.inputs, inputs);
    const latest = isSame ? before.latest : keep(before?.latest, collect(processes, snapshot));
    const isTold = before !== undefined && isDeepStrictEqual(latest, before.told);
    const isDue = before === undefined || nowMs - before.toldAt >= calmMs;
    if (before !== undefined && (isTold || !isDue)) {
      this.#known.set(gateway, { ...before, inputs, latest });
      return { targets: before.told, recheckAt: isTold ? undefined : before.toldAt + calmMs };
    }
    const toldAt = latest === undefined ? -Infinity : nowMs;
    this.#known.set(gateway, { inputs, latest, told: latest, toldAt });
    return { targets: latest, recheckAt: undefined };
  }

  /** The other Gateways are gone. */
  keepOnly(gateways: ReadonlySet<string>): void {
    for (const name of this.#known.keys()) if (!gateways.has(name)) this.#known.delete(name);
  }
}

function collect(processes: readonly ConnectedGateway[], snapshot: Snapshot | undefined): GatewayTargets | undefined {
  const own = snapshot?.resources.get(backendType);
  const byBackend = new Map<string, Map<string, TargetFacts>>();
  for (const { targets = [] } of processes) {
    // The last of several about one server: a process counts once.
    const said = new Map(targets.slice(0, maxReportedTargets).map((each) => [`${each.backend}\n${each.target}`, each]));
    for (const { backend, target, down, since, error } of said.values()) {
      if (own?.has(backend) !== true) continue;
      const names = byBackend.get(backend) ?? new Map<string, TargetFacts>();
      byBackend.set(backend, names);
      const facts: TargetFacts = {
        down: Number(down),
        since: since * 1_000,
        error: down ? escapeControls(cutText(error, maxErrorLength)) : '',
      };
      const known = names.get(target);
      names.set(target, known === undefined ? facts : joinTargetFacts(known, facts));
    }
  }
  return byBackend.size === 0 ? undefined : byBackend;
}

function keep(before: GatewayTargets | undefined, next: GatewayTargets | undefined): GatewayTargets | undefined {
  return isDeepStrictEqual(before, next) ? before : next;
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((value, index) => value === right[index]);
}
