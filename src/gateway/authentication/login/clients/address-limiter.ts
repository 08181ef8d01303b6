// Rate limits per address for registrations, document fetches and token requests: one token bucket each, in bounded memory.
import { isIPv4, isIPv6 } from 'node:net';
import type { Idp } from '../../../config/idp-connection.ts';

export interface AddressLimiter {
  /** Takes a token from the bucket. 0: taken; otherwise the seconds until the next token. */
  take(address: string, perMinute: number, nowMs: number): number;
}

/** Beyond this number the least recently used addresses are dropped: their buckets are mostly full again by then. */
const maxAddresses = 10_000;

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** Makes a limiter with its own memory. */
export function createAddressLimiter(): AddressLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take(address, perMinute, nowMs) {
      const key = groupAddress(address);
      const before = buckets.get(key) ?? { tokens: perMinute, atMs: nowMs };
      const perMs = perMinute / 60_000;
      const tokens = Math.min(perMinute, before.tokens + Math.max(0, nowMs - before.atMs) * perMs);
      const isAllowed = tokens >= 1;
      // Deleted first, so that the order of the map is the order of use.
      buckets.delete(key);
      buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
      if (buckets.size > maxAddresses) buckets.delete(buckets.keys().next().value!);
      return isAllowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / perMs / 1_000));
    },
  };
}

/** One limiter per identity provider, for as long as the provider is in use. */
export function createLimiters(): (idp: Idp) => AddressLimiter {
  const limiters = new WeakMap<Idp, AddressLimiter>();
  return (idp) => {
    let limiter = limiters.get(idp);
    if (limiter === undefined) limiters.set(idp, (limiter = createAddressLimiter()));
    return limiter;
  };
}

/** IPv6 addresses are grouped by /64: a customer can choose any address within one. */
export function groupAddress(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const groups = (URL.parse(`http://[${plain.split('%', 1)[0]!}]`)?.hostname ?? plain).slice(1, -1).split('::');
  const head = groups[0] === '' ? [] : groups[0]!.split(':');
  const tail = groups[1] === undefined || groups[1] === '' ? [] : groups[1].split(':');
  const gap = groups.length === 1 ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...gap, ...tail].slice(0, 4).join(':');
}
