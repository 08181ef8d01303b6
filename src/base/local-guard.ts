// Local addresses that cannot be reached through the gateway, by any name: the gateway's own ports, and where tenants choose backends and identity providers
// also loopback, link-local addresses and the metadata services of clouds.
import { networkInterfaces } from 'node:os';
import { classifyAddress } from './address-guard.ts';
import { type IpBytes, parseIpAddress } from './ip-network.ts';

/** Why no connection is made to an address and port, for people ("the gateway's own port 15000"); undefined: it may be made. */
export type LocalGuard = (address: string, port: number) => string | undefined;

interface LocalGuardOptions {
  /** Admin pages, metrics, readiness. Read for every connection: a port that the system chooses is only known later. */
  readonly ownPorts: { readonly includes: (port: number) => boolean };
  /** False: loopback, link-local and metadata addresses cannot be backends. */
  readonly allowsLocal: boolean;
  /** Addresses of this machine, for tests. */
  readonly listAddresses?: () => readonly string[];
}

/** Makes the guard of a gateway. */
export function createLocalGuard(options: LocalGuardOptions): LocalGuard {
  const { ownPorts, allowsLocal, listAddresses = listOwnAddresses } = options;
  return (address, port) => {
    const { kind, description } = classifyAddress(address);
    const bytes = parseIpAddress(address)!;
    // 0.0.0.0 and ::, too: a connection there arrives on this machine.
    const isHere = kind === 'loopback' || bytes.every((byte) => byte === 0);
    if (ownPorts.includes(port) && (isHere || listAddresses().some((own) => isSame(own, bytes))))
      return `the gateway's own port ${port}`;
    if (allowsLocal) return undefined;
    return isHere || kind === 'forbidden' ? `${description}, which is not allowed here` : undefined;
  };
}

function listOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function isSame(own: string, bytes: IpBytes): boolean {
  const other = parseIpAddress(own);
  return other?.length === bytes.length && other.every((byte, index) => byte === bytes[index]);
}
