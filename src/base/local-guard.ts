// What of this machine nobody reaches through the gateway, by whatever name: the gateway's own ports, and where the gateway is deployed for others also loopback,
// link-local addresses and the metadata services of clouds. Backends and identity providers may be a tenant's choice.
import { networkInterfaces } from 'node:os';
import { classifyAddress } from './address-guard.ts';

/** Why no connection is made to an address and port, for people ("the gateway's own port 15000"); undefined: it may be made. */
export type LocalGuard = (address: string, port: number) => string | undefined;

export interface LocalGuardOptions {
  /** Admin pages, metrics, readiness. Read with every connection: a port that the system chooses is known later. */
  readonly ownPorts: { readonly includes: (port: number) => boolean };
  /** False: this machine and its surroundings are nobody's backend. */
  readonly allowsLocal: boolean;
  /** Addresses of this machine, for tests. */
  readonly listAddresses?: () => readonly string[];
}

/** Makes the guard of a gateway. */
export function createLocalGuard(options: LocalGuardOptions): LocalGuard {
  const { ownPorts, allowsLocal, listAddresses = listOwnAddresses } = options;
  return (address, port) => {
    const plain = address.replace(/%.*$/, '');
    const { kind, description } = classifyAddress(plain);
    const isHere = kind === 'loopback' || isUnspecified(plain);
    if (ownPorts.includes(port) && (isHere || isOneOf(listAddresses(), plain))) return `the gateway's own port ${port}`;
    if (allowsLocal) return undefined;
    return isHere || kind === 'forbidden' ? `${description}, which is not allowed here` : undefined;
  };
}

/** 0.0.0.0 and ::, also inside an IPv6 address: a connection there arrives on this machine. */
function isUnspecified(address: string): boolean {
  return classifyAddress(address).description === 'an unspecified address';
}

function listOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

function isOneOf(addresses: readonly string[], address: string): boolean {
  const wanted = normalize(address);
  return addresses.some((each) => normalize(each) === wanted);
}

/** One spelling, with IPv4 addresses inside of IPv6 addresses taken out. */
function normalize(address: string): string {
  const plain = address.replace(/%.*$/, '');
  if (!plain.includes(':')) return plain;
  const hostname = URL.parse(`http://[${plain}]`)?.hostname ?? plain;
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname);
  if (mapped === null) return hostname;
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
