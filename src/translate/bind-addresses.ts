// Where a Gateway binds: its spec.addresses in one spelling, and which of them collide in the kernel.
import { BlockList, SocketAddress, isIPv4, isIPv6 } from 'node:net';
import type { Gateway } from '../api/gateway.ts';

/** The addresses of a Gateway (none means every interface), or why it cannot bind. */
export type BindAddresses =
  | { readonly usable: true; readonly addresses: readonly string[] }
  | {
      readonly usable: false;
      readonly reason: 'UnsupportedAddress' | 'AddressNotAssigned' | 'AddressNotUsable';
      readonly message: string;
    };

const everyInterface = '';
const anyIPv4 = '0.0.0.0';
const anyIPv6 = '::';

const multicast = new BlockList();
multicast.addSubnet('224.0.0.0', 3, 'ipv4'); // multicast and reserved, 224.0.0.0 to 255.255.255.255
multicast.addSubnet('ff00::', 8, 'ipv6');

/** The addresses that a Gateway asks for. */
export function resolveBindAddresses(gateway: Gateway): BindAddresses {
  const addresses: string[] = [];
  const asked = gateway.spec.addresses ?? [];
  for (const { type } of asked) {
    if (type === 'IPAddress') continue;
    const message = `addresses of type ${type} are not supported; use IPAddress`;
    return { usable: false, reason: 'UnsupportedAddress', message };
  }
  for (const { value } of asked) {
    if (value === undefined || value === '')
      return {
        usable: false,
        reason: 'AddressNotAssigned',
        message: 'an address without a value: none is assigned by itself, write the value',
      };
    const address = normalizeAddress(value);
    if (address === undefined)
      return { usable: false, reason: 'AddressNotUsable', message: `${value} cannot be bound; use a unicast address` };
    if (!addresses.includes(address)) addresses.push(address);
  }
  return {
    usable: true,
    addresses: addresses.filter((address) => !addresses.some((other) => other !== address && covers(other, address))),
  };
}

/** Whether two Gateways share a socket on the same port: both bind the same address there. */
export function shareAddress(left: readonly string[], right: readonly string[]): boolean {
  return listBinds(left).some((address) => listBinds(right).includes(address));
}

/** Whether the second of two Gateways could not bind on the same port: every interface and one of them exclude each other. */
export function collide(left: readonly string[], right: readonly string[]): boolean {
  return listBinds(left).some((address) =>
    listBinds(right).some((other) => other !== address && (covers(address, other) || covers(other, address))),
  );
}

function listBinds(addresses: readonly string[]): readonly string[] {
  return addresses.length === 0 ? [everyInterface] : addresses;
}

// :: takes IPv4 as well: sockets are dual-stack.
function covers(wide: string, narrow: string): boolean {
  return (
    wide === everyInterface || (wide === anyIPv6 && narrow !== everyInterface) || (wide === anyIPv4 && isIPv4(narrow))
  );
}

function normalizeAddress(value: string): string | undefined {
  if (isIPv4(value)) return multicast.check(value, 'ipv4') ? undefined : value;
  if (!isIPv6(value)) return undefined;
  const address = value.includes('%') ? value : new SocketAddress({ address: value, family: 'ipv6' }).address;
  return multicast.check(address.split('%')[0]!, 'ipv6') ? undefined : address;
}
