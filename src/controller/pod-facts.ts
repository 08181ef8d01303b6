// The fields of a pod that are needed to verify the identity of a peer.
import { isIP, SocketAddress } from 'node:net';
import type { KubernetesObject } from '../kubernetes/client.ts';

export interface PodFacts {
  readonly uid: string;
  /** As `normalizeAddress` writes them; empty: the pod has no address yet. */
  readonly addresses: readonly string[];
  readonly serviceAccount: string;
}

/** Reads a Pod. */
export function readPod({ metadata, spec, status }: KubernetesObject): PodFacts {
  const { serviceAccountName = '' } = (spec ?? {}) as { readonly serviceAccountName?: string };
  const { podIP, podIPs = [] } = (status ?? {}) as {
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip?: string }[];
  };
  const addresses = [podIP, ...podIPs.map(({ ip }) => ip)].filter((ip) => ip !== undefined && ip !== '') as string[];
  return {
    uid: metadata.uid ?? '',
    addresses: addresses.map(normalizeAddress),
    serviceAccount: serviceAccountName,
  };
}

/** The canonical form of an address: IPv4-mapped IPv6 becomes IPv4, and IPv6 is compressed. */
export function normalizeAddress(address: string): string {
  const bare = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(bare) === 6 ? new SocketAddress({ family: 'ipv6', address: bare }).address : bare;
}
