// IP addresses and networks as bytes.
import { isIPv4, isIPv6 } from 'node:net';

/** 4 or 16 bytes. */
export type IpBytes = readonly number[];

export interface IpNetwork {
  readonly bytes: IpBytes;
  readonly prefixLength: number;
}

/** With a zone. Longer texts are not addresses. */
const longestAddress = 64;

const ipv4Mapped = ipv6(0, 0, 0, 0, 0, 0xffff);

/** The bytes of an address; undefined when it is not valid. A zone (`%eth0`) is dropped; an IPv4-mapped IPv6 address becomes the IPv4 address. */
export function parseIpAddress(text: string): IpBytes | undefined {
  if (text.length > longestAddress) return undefined;
  if (isIPv4(text)) return text.split('.').map(Number);
  if (!isIPv6(text)) return undefined;
  const bytes = parseIpv6(text);
  return hasPrefix(bytes, ipv4Mapped, 96) ? bytes.slice(12) : bytes;
}

/** Parses "10.0.0.0/8", or a single address as a network. Undefined when it is not valid, or has bits set after the prefix. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const slash = text.indexOf('/');
  const written = slash === -1 ? text : text.slice(0, slash);
  const bytes = written.includes('%') ? undefined : parseIpAddress(written);
  if (bytes === undefined) return undefined;
  if (slash === -1) return { bytes, prefixLength: bytes.length * 8 };
  const length = text.slice(slash + 1);
  if (!/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  // The prefix of an IPv4-mapped network counts the 96 bits before the IPv4 address.
  const prefixLength = Number(length) - (written.includes(':') && bytes.length === 4 ? 96 : 0);
  if (prefixLength < 0 || prefixLength > bytes.length * 8) return undefined;
  const hasBitsAfter = bytes.some((byte, index) => (byte & (0xff >> clamp(prefixLength - index * 8))) !== 0);
  return hasBitsAfter ? undefined : { bytes, prefixLength };
}

/** Whether an address lies in a network; never across IPv4 and IPv6. */
export function isInNetwork(address: IpBytes, { bytes, prefixLength }: IpNetwork): boolean {
  return address.length === bytes.length && hasPrefix(address, bytes, prefixLength);
}

/** Whether the first bits are the same. */
export function hasPrefix(bytes: IpBytes, network: IpBytes, prefixLength: number): boolean {
  const whole = prefixLength >> 3;
  for (let index = 0; index < whole; index += 1) if (bytes[index] !== network[index]) return false;
  const rest = prefixLength & 7;
  if (rest === 0) return true;
  const mask = (0xff << (8 - rest)) & 0xff;
  return (bytes[whole]! & mask) === (network[whole]! & mask);
}

/** The 16 bytes of an address that starts with these groups and goes on with zeros. */
export function ipv6(...groups: readonly number[]): IpBytes {
  return Array.from({ length: 8 }, (_, index) => groups[index] ?? 0).flatMap((group) => [group >> 8, group & 0xff]);
}

/** Of text that isIPv6 has accepted: a zone, `::` and a dotted tail are possible. */
export function parseIpv6(address: string): IpBytes {
  const [text = ''] = address.split('%');
  const plain = text.replace(/\d+\.\d+\.\d+\.\d+$/, (dotted) => {
    const [a, b, c, d] = dotted.split('.').map(Number) as [number, number, number, number];
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = plain.split('::');
  const left = parseGroups(head);
  const right = tail === undefined ? [] : parseGroups(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return ipv6(...left, ...zeros, ...right);
}

function parseGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** How many of a byte's eight bits a prefix covers. */
function clamp(bits: number): number {
  return Math.min(8, Math.max(0, bits));
}
