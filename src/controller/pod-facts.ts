// What is asked about a pod: whether it is the one that somebody says it is.
import { isIP, SocketAddress } from 'node:net';
import type { KubernetesObject } from '../kubernetes/client.ts';

export interface PodFacts {
  readonly uid: string;
  /** In the spelling of `normalizeAddress`; none: it has none yet. */
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

/** One spelling for each address: IPv4 inside IPv6 is IPv4, and IPv6 is as short as can be. */
export function normalizeAddress(address: string): string {
  const bare = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(bare) === 6 ? new SocketAddress({ family: 'ipv6', address: bare }).address : bare;
}
