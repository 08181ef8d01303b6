// The addresses of a Gateway: its spec.addresses in one spelling, and which of them collide in the kernel.
import { BlockList, SocketAddress, isIPv4, isIPv6 } from 'node:net';
import type { Gateway } from '../api/gateway.ts';
import type { Placement } from './placement.ts';

/** The addresses of a Gateway (none means every interface, or any that its Service is given), or what is wrong with them. */
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
export function resolveBindAddresses(gateway: Gateway, placement: Placement): BindAddresses {
  const addresses: string[] = [];
  const asked = gateway.spec.addresses ?? [];
  for (const { type } of asked) {
    if (type === 'IPAddress') continue;
    const message = `addresses of type ${type} are not supported; use IPAddress`;
    return { usable: false, reason: 'UnsupportedAddress', message };
  }
  for (const { value } of asked) {
    if (value === undefined || value === '') {
      if (placement === 'pods') continue; // any address that its Service gets
      return {
        usable: false,
        reason: 'AddressNotAssigned',
        message: 'the address has no value, and no value is assigned automatically; set one',
      };
    }
    const address = normalizeAddress(value);
    if (address === undefined) {
      const message = `${value} ${placement === 'pods' ? 'is not an address that a Service can have' : 'cannot be bound'}; use a unicast address`;
      return { usable: false, reason: 'AddressNotUsable', message };
    }
    if (!addresses.includes(address)) addresses.push(address);
  }
  if (placement === 'pods') return resolveWishes(addresses);
  return {
    usable: true,
    addresses: addresses.filter((address) => !addresses.some((other) => other !== address && covers(other, address))),
  };
}

function resolveWishes(addresses: readonly string[]): BindAddresses {
  const wide = addresses.find((address) => address === anyIPv4 || address === anyIPv6);
  if (wide === undefined) return { usable: true, addresses };
  const message = `${wide} is not an address that a Service can have; use a unicast address, or none to be given one`;
  return { usable: false, reason: 'AddressNotUsable', message };
}

/** Whether two Gateways share a socket on the same port: both bind the same address there. */
export function shareAddress(left: readonly string[], right: readonly string[]): boolean {
  return listBinds(left).some((address) => listBinds(right).includes(address));
}

/** Whether two Gateways cannot both bind the same port: one binds every interface, the other only one of them. */
export function collide(left: readonly string[], right: readonly string[]): boolean {
  return listBinds(left).some((address) =>
    listBinds(right).some((other) => other !== address && (covers(address, other) || covers(other, address))),
  );
}

function listBinds(addresses: readonly string[]): readonly string[] {
  return addresses.length === 0 ? [everyInterface] : addresses;
}

// :: covers IPv4 as well: sockets are dual-stack.
function covers(wide: string, narrow: string): boolean {
  return (
    wide === everyInterface || (wide === anyIPv6 && narrow !== everyInterface) || (wide === anyIPv4 && isIPv4(narrow))
  );
}

/** An IP address in its canonical form; undefined for an address that no socket can have. */
export function normalizeAddress(value: string): string | undefined {
  if (isIPv4(value)) return multicast.check(value, 'ipv4') ? undefined : value;
  if (!isIPv6(value)) return undefined;
  const address = value.includes('%') ? value : new SocketAddress({ address: value, family: 'ipv6' }).address;
  return multicast.check(address.split('%')[0]!, 'ipv6') ? undefined : address;
}
