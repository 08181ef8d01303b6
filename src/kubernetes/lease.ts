// The Lease of a leader election, as objects: who holds it, how it is held, released, and asked for. Pure.
import type { KubernetesObject } from './client.ts';
import { formatMicroTime } from './micro-time.ts';

/** The annotation of the Lease with the address of the leader for other replicas: address:port. */
export const leaderAddressAnnotation = 'gateway.proxy/xds-address';
/** The annotation with which a leader says that it is not fit to lead: a fit replica may ask for the Lease. */
export const unfitAnnotation = 'gateway.proxy/leader-unfit';
/** The annotation with which a fit replica asks an unfit leader for the Lease: its identity. Only the holder ever releases a Lease that has not expired. */
export const wantedByAnnotation = 'gateway.proxy/lease-wanted-by';

/** Another replica. */
export interface Leader {
  readonly identity: string;
  readonly address: string | undefined;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** A replica that takes part in the election, at this moment. */
export interface Candidate {
  readonly identity: string;
  readonly address: string | undefined;
  /** Whether it can do the work of a leader. */
  readonly isFit: boolean;
}

export function readSpec({ spec }: KubernetesObject): LeaseSpec {
  return spec ?? {};
}

/** The spec as text, to compare it. */
export function formatSpec(object: KubernetesObject): string {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = readSpec(object);
  return JSON.stringify([holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions]);
}

/** The holder; undefined: nobody. */
export function describeLeader(object: KubernetesObject): Leader | undefined {
  const { holderIdentity = '' } = readSpec(object);
  if (holderIdentity === '') return undefined;
  return { identity: holderIdentity, address: object.metadata.annotations?.[leaderAddressAnnotation] };
}

/** The annotations of a Lease that the candidate holds: with its address, if it has one, and whether it is fit. */
export function annotateHolding(
  annotations: Readonly<Record<string, string>>,
  { address, isFit }: Candidate,
): Readonly<Record<string, string>> {
  const {
    [leaderAddressAnnotation]: _address,
    [unfitAnnotation]: _unfit,
    [wantedByAnnotation]: _wanted,
    ...rest
  } = annotations;
  return {
    ...rest,
    ...(address !== undefined && { [leaderAddressAnnotation]: address }),
    ...(!isFit && { [unfitAnnotation]: 'true' }),
  };
}

/** The spec of a Lease that is acquired or renewed. Times in milliseconds. */
export function describeHolding(
  seen: KubernetesObject | undefined,
  identity: string,
  leaseDurationMs: number,
  nowMs: number,
): LeaseSpec {
  const previous = seen === undefined ? undefined : readSpec(seen);
  const now = formatMicroTime(nowMs);
  const isOurs = previous?.holderIdentity === identity;
  const transitions = previous?.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
    acquireTime: isOurs ? (previous.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: seen === undefined || isOurs ? transitions : transitions + 1,
  };
}

/** The Lease, released. If somebody asked for it, candidates that are not fit leave it alone for the duration. */
export function describeRelease(seen: KubernetesObject, leaseDurationMs: number, nowMs: number): KubernetesObject {
  const {
    [leaderAddressAnnotation]: _address,
    [unfitAnnotation]: _unfit,
    ...annotations
  } = seen.metadata.annotations ?? {};
  const now = formatMicroTime(nowMs);
  const spec: LeaseSpec = {
    holderIdentity: '',
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: readSpec(seen).leaseTransitions ?? 0,
  };
  return { ...seen, metadata: { ...seen.metadata, annotations }, spec };
}

/** The candidate is not fit, and another replica asked for the Lease. */
export function isPromised({ metadata }: KubernetesObject, { identity, isFit }: Candidate): boolean {
  const wantedBy = metadata.annotations?.[wantedByAnnotation];
  return !isFit && wantedBy !== undefined && wantedBy !== identity;
}

/** The candidate is fit, the leader is another one and is not, and nobody has asked for the Lease yet. */
export function mayAskFor(lease: KubernetesObject, { identity, isFit }: Candidate): boolean {
  const { holderIdentity = '' } = readSpec(lease);
  const { [unfitAnnotation]: unfit, [wantedByAnnotation]: wantedBy } = lease.metadata.annotations ?? {};
  return isFit && holderIdentity !== '' && holderIdentity !== identity && unfit === 'true' && wantedBy === undefined;
}

/** The Lease with the question of the candidate in it. */
export function describeQuestion(seen: KubernetesObject, { identity }: Candidate): KubernetesObject {
  const annotations = { ...seen.metadata.annotations, [wantedByAnnotation]: identity };
  return { ...seen, metadata: { ...seen.metadata, annotations } };
}
