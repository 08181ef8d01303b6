// The history of each Gateway's snapshots. A gateway process reports the digest that it has settled on; from that follows which messages it has in their
// present version. Only round numbers are kept, no old snapshots: when each digest was last in force, and when each message got its present version.
import type { Snapshot } from '../xds/snapshot.ts';

/** More than a gateway can be behind. */
const maxDigests = 1_024;

interface GatewayHistory {
  snapshot: Snapshot;
  round: number;
  /** The round in which each digest was last in force, from the oldest to the newest. */
  readonly rounds: Map<string, number>;
  /** The round since which a message has its present version, by type URL and name; missing: since the first round. */
  readonly since: Map<string, Map<string, number>>;
}

/** The snapshots of every Gateway over time. */
export class SnapshotHistory {
  readonly #gateways = new Map<string, GatewayHistory>();

  /** Records the snapshot that the Gateway's processes are to have from now on. */
  note(gateway: string, snapshot: Snapshot): void {
    const known = this.#gateways.get(gateway);
    if (known === undefined) {
      const rounds = new Map([[snapshot.digest, 1]]);
      this.#gateways.set(gateway, { snapshot, round: 1, rounds, since: new Map() });
      return;
    }
    if (known.snapshot === snapshot) return;
    known.round += 1;
    noteVersions(known, snapshot);
    known.snapshot = snapshot;
    known.rounds.delete(snapshot.digest);
    known.rounds.set(snapshot.digest, known.round);
    if (known.rounds.size > maxDigests) known.rounds.delete(known.rounds.keys().next().value!);
  }

  forget(gateway: string): void {
    this.#gateways.delete(gateway);
  }

  findSnapshot(gateway: string): Snapshot | undefined {
    return this.#gateways.get(gateway)?.snapshot;
  }

  /** The last round in which the digest was that of the Gateway's snapshot; undefined: it never was, or too long ago. */
  findRound(gateway: string, digest: string): number | undefined {
    return this.#gateways.get(gateway)?.rounds.get(digest);
  }

  /** The round of the Gateway's present snapshot; 0: it has none. */
  findPresentRound(gateway: string): number {
    return this.#gateways.get(gateway)?.round ?? 0;
  }

  /** Whether the present version of a message existed in a round already; false if there is no such message. */
  wasThere(gateway: string, typeUrl: string, name: string, round: number): boolean {
    const known = this.#gateways.get(gateway);
    if (known?.snapshot.resources.get(typeUrl)?.has(name) !== true) return false;
    // All present versions existed in the present round.
    if (round >= known.round) return true;
    return (known.since.get(typeUrl)?.get(name) ?? 1) <= round;
  }
}

function noteVersions({ snapshot: before, since, round }: GatewayHistory, snapshot: Snapshot): void {
  for (const [typeUrl, resources] of snapshot.resources) {
    const previous = before.resources.get(typeUrl);
    if (previous === resources) continue;
    const rounds = since.get(typeUrl) ?? new Map<string, number>();
    since.set(typeUrl, rounds);
    for (const name of previous?.keys() ?? []) if (!resources.has(name)) rounds.delete(name);
    for (const [name, { version }] of resources) if (previous?.get(name)?.version !== version) rounds.set(name, round);
  }
}
