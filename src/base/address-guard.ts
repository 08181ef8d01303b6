// Which IP addresses may be called, depending on who named them (RFC 6890 special-purpose addresses; server-side request forgery).
import { isIPv4, isIPv6 } from 'node:net';
import { hasPrefix, ipv6, parseIpv6 } from './ip-network.ts';

/**
 * - public: a global unicast address.
 * - loopback, private, reserved: not globally reachable; allowed when the operator names them, never when a client does.
 * - forbidden: link-local, metadata services, multicast, unspecified. There is no reason to call these.
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'reserved' | 'forbidden';

interface AddressClass {
  readonly kind: AddressKind;
  /** For people: "a link-local address". */
  readonly description: string;
}

/** Why an address must not be called, for people ("a link-local address"), or undefined when it may. */
export type AddressPolicy = (address: string, chosenBy: AddressChoice) => string | undefined;

/**
 * Who named an address. `provider`: the metadata of an identity provider, on another host than the operator named. It may name private addresses, but none
 * of this machine.
 */
export type AddressChoice = 'operator' | 'provider' | 'client';

type Block = readonly [network: readonly number[], prefixLength: number, kind: AddressKind, description: string];

const linkLocal = 'a link-local address, where cloud metadata services live';
const metadata = 'the address of a cloud metadata service';

/** The first block that contains the address counts. */
const ipv4Blocks: readonly Block[] = [
  [[0, 0, 0, 0], 8, 'forbidden', 'an unspecified address'],
  [[169, 254, 0, 0], 16, 'forbidden', linkLocal],
  [[100, 100, 100, 200], 32, 'forbidden', metadata], // Alibaba Cloud
  [[168, 63, 129, 16], 32, 'forbidden', metadata], // Azure, although it looks public
  [[192, 0, 0, 192], 32, 'forbidden', metadata], // Oracle Cloud
  [[224, 0, 0, 0], 4, 'forbidden', 'a multicast address'],
  [[255, 255, 255, 255], 32, 'forbidden', 'the broadcast address'],
  [[127, 0, 0, 0], 8, 'loopback', 'a loopback address'],
  [[10, 0, 0, 0], 8, 'private', 'a private address'],
  [[172, 16, 0, 0], 12, 'private', 'a private address'],
  [[192, 168, 0, 0], 16, 'private', 'a private address'],
  [[100, 64, 0, 0], 10, 'private', 'a shared address of a carrier'],
  [[192, 0, 0, 0], 24, 'reserved', 'a reserved address'],
  [[192, 0, 2, 0], 24, 'reserved', 'an address for documentation'],
  [[198, 51, 100, 0], 24, 'reserved', 'an address for documentation'],
  [[203, 0, 113, 0], 24, 'reserved', 'an address for documentation'],
  [[192, 88, 99, 0], 24, 'reserved', 'a reserved address'],
  [[198, 18, 0, 0], 15, 'reserved', 'an address for benchmarks'],
  [[240, 0, 0, 0], 4, 'reserved', 'a reserved address'],
];

const ipv6Blocks: readonly Block[] = [
  [ipv6(), 128, 'forbidden', 'an unspecified address'],
  [ipv6(0, 0, 0, 0, 0, 0, 0, 1), 128, 'loopback', 'a loopback address'],
  [ipv6(0xfe80), 10, 'forbidden', linkLocal],
  [ipv6(0xff00), 8, 'forbidden', 'a multicast address'],
  [ipv6(0xfd00, 0x0ec2), 32, 'forbidden', metadata], // AWS: metadata, credentials of pods
  [ipv6(0xfd20, 0x00ce), 32, 'forbidden', metadata], // Google Cloud
  [ipv6(0xfd00, 0x00c1), 32, 'forbidden', metadata], // Oracle Cloud
  [ipv6(0xfc00), 7, 'private', 'a unique local address'],
  [ipv6(0xfec0), 10, 'private', 'a site-local address'],
  [ipv6(0x2001, 0x0db8), 32, 'reserved', 'an address for documentation'],
  [ipv6(0x3fff), 20, 'reserved', 'an address for documentation'],
  [ipv6(0x2001), 23, 'reserved', 'a reserved address'],
  [ipv6(0x2000), 3, 'public', 'a public address'],
];

/** IPv6 forms that embed an IPv4 address, and which bytes hold it. The embedded address is classified. */
const wrappings: readonly (readonly [network: readonly number[], prefixLength: number, at: readonly number[]])[] = [
  [ipv6(0, 0, 0, 0, 0, 0xffff), 96, [12, 13, 14, 15]], // IPv4-mapped
  [ipv6(0, 0, 0, 0, 0xffff), 96, [12, 13, 14, 15]], // IPv4-translated (RFC 2765)
  [ipv6(0x0064, 0xff9b), 96, [12, 13, 14, 15]], // NAT64 (RFC 6052)
  [ipv6(0x2002), 16, [2, 3, 4, 5]], // 6to4 (RFC 3056)
  [ipv6(), 96, [12, 13, 14, 15]], // IPv4-compatible; after :: and ::1, see below
];

/** Local NAT64 prefixes (RFC 8215) embed the address at a place that only their operator knows; Teredo tunnels through third parties. */
const opaqueWrappings: readonly Block[] = [
  [ipv6(0x0064, 0xff9b, 1), 48, 'forbidden', 'an address of a local translator'],
  [ipv6(0x2001, 0), 32, 'forbidden', 'a Teredo address'],
];

/** Classifies an address. Throws a TypeError when the text is not an IP address. */
export function classifyAddress(address: string): AddressClass {
  if (isIPv4(address)) return classifyIpv4(address.split('.').map(Number));
  if (!isIPv6(address)) throw new TypeError('not an IP address');
  const bytes = parseIpv6(address);
  const isPlain = bytes.slice(0, 15).every((byte) => byte === 0) && bytes[15]! <= 1;
  const wrapping = isPlain ? undefined : wrappings.find(([network, length]) => hasPrefix(bytes, network, length));
  if (wrapping !== undefined) return classifyIpv4(wrapping[2].map((at) => bytes[at]!));
  return (
    findBlock(opaqueWrappings, bytes) ??
    findBlock(ipv6Blocks, bytes) ?? { kind: 'reserved', description: 'a reserved address' }
  );
}

/** The rules of this gateway: forbidden addresses are never called, loopback only for the operator, and for clients only public ones. */
export const guardAddress: AddressPolicy = (address, chosenBy) => {
  const { kind, description } = classifyAddress(address);
  if (kind === 'forbidden') return description;
  if (chosenBy === 'provider' && kind === 'loopback') return description;
  return chosenBy === 'client' && kind !== 'public' ? description : undefined;
};

function classifyIpv4(bytes: readonly number[]): AddressClass {
  return findBlock(ipv4Blocks, bytes) ?? { kind: 'public', description: 'a public address' };
}

function findBlock(blocks: readonly Block[], bytes: readonly number[]): AddressClass | undefined {
  const block = blocks.find(([network, length]) => hasPrefix(bytes, network, length));
  return block === undefined ? undefined : { kind: block[2], description: block[3] };
}
