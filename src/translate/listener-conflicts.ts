// Listeners that cannot both be served. Within one Gateway all indistinct listeners lose, as Gateway API says.
// Several Gateways of one process share ports when their protocols agree; there the older Gateway keeps its place.
import { collide, shareAddress } from './bind-addresses.ts';
import { intersectHostname } from './hostnames.ts';

/** The fields that decide on conflicts. Callers pass listeners in the order of their Gateways' age. */
export interface PlacedListener {
  readonly key: string;
  /** namespace/name. */
  readonly gateway: string;
  readonly addresses: readonly string[];
  readonly port: number;
  readonly protocol: string;
  /** Empty means any. */
  readonly hostname: string;
}

/** Why a listener is not served. */
export interface Conflict {
  readonly reason: 'HostnameConflict' | 'ProtocolConflict' | 'PortUnavailable';
  readonly message: string;
}

/** What was found, by listener key. */
interface Conflicts {
  readonly conflicts: ReadonlyMap<string, Conflict>;
  /** HTTPS listeners whose host names overlap with those of another on their port. */
  readonly overlaps: ReadonlyMap<string, readonly string[]>;
}

/** Finds listeners that conflict with each other. */
export function findConflicts(listeners: readonly PlacedListener[]): Conflicts {
  const conflicts = new Map<string, Conflict>();
  const overlaps = new Map<string, string[]>();
  for (const onPort of Map.groupBy(listeners, ({ port }) => port).values()) {
    for (const ofGateway of Map.groupBy(onPort, ({ gateway }) => gateway).values())
      findOwnConflicts(ofGateway, conflicts);
    const served = findForeignConflicts(
      onPort.filter(({ key }) => !conflicts.has(key)),
      conflicts,
    );
    findOverlaps(served, overlaps);
  }
  return { conflicts, overlaps };
}

function findOwnConflicts(listeners: readonly PlacedListener[], conflicts: Map<string, Conflict>): void {
  for (const listener of listeners) {
    for (const other of listeners) {
      if (other === listener || conflicts.has(listener.key)) continue;
      if (other.protocol !== listener.protocol)
        conflicts.set(listener.key, {
          reason: 'ProtocolConflict',
          message: `listener ${other.key} has the same port ${listener.port} with protocol ${other.protocol}; neither is served`,
        });
      else if (other.hostname === listener.hostname)
        conflicts.set(listener.key, {
          reason: 'HostnameConflict',
          message: `listener ${other.key} has the same port ${listener.port} and ${describeHostname(listener.hostname)}; neither is served`,
        });
    }
  }
}

function findForeignConflicts(
  listeners: readonly PlacedListener[],
  conflicts: Map<string, Conflict>,
): readonly PlacedListener[] {
  const served: PlacedListener[] = [];
  for (const listener of listeners) {
    const conflict = served
      .filter(({ gateway }) => gateway !== listener.gateway)
      .map((older) => compareWithOlder(older, listener))
      .find((each) => each !== undefined);
    if (conflict === undefined) served.push(listener);
    else conflicts.set(listener.key, conflict);
  }
  return served;
}

function compareWithOlder(older: PlacedListener, listener: PlacedListener): Conflict | undefined {
  const place = `listener ${older.key} takes precedence: it`;
  if (collide(older.addresses, listener.addresses))
    return {
      reason: 'PortUnavailable',
      message: `${place} has port ${listener.port} on ${describeAddresses(older.addresses)}, which cannot be bound beside ${describeAddresses(listener.addresses)}; give both the same addresses`,
    };
  if (!shareAddress(older.addresses, listener.addresses)) return undefined;
  if (older.protocol !== listener.protocol)
    return {
      reason: 'ProtocolConflict',
      message: `${place} has port ${listener.port} with protocol ${older.protocol}`,
    };
  if (older.hostname !== listener.hostname) return undefined;
  return {
    reason: 'HostnameConflict',
    message: `${place} has port ${listener.port} and ${describeHostname(listener.hostname)}`,
  };
}

function findOverlaps(listeners: readonly PlacedListener[], overlaps: Map<string, string[]>): void {
  const secure = listeners.filter(({ protocol }) => protocol === 'HTTPS');
  for (const listener of secure) {
    const others = secure.filter(
      (other) =>
        other !== listener &&
        shareAddress(other.addresses, listener.addresses) &&
        (other.hostname === '' ||
          listener.hostname === '' ||
          intersectHostname(other.hostname, listener.hostname) !== undefined),
    );
    if (others.length > 0) overlaps.set(listener.key, others.map(({ key }) => key).toSorted());
  }
}

function describeHostname(hostname: string): string {
  return hostname === '' ? 'no hostname either' : `hostname ${hostname}`;
}

function describeAddresses(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'every interface' : addresses.join(', ');
}
