// Finds the client's address, scheme and port behind trusted proxies (X-Forwarded-For, -Proto, -Port). X-Forwarded-Host is not used: routes match by Host.
// The same headers from an untrusted peer are ignored: otherwise any client could claim any address.
import { isIP } from 'node:net';
import { type IpNetwork, isInNetwork, parseIpAddress } from '../../base/ip-network.ts';
import { findHeader } from './headers.ts';
import type { Exchange, RawHeaders } from './exchange.ts';

/** True for a peer whose X-Forwarded-* headers are trusted. */
export type TrustedProxies = (remoteAddress: string) => boolean;

/** A request from the client's point of view. */
export interface ClientView {
  /** False: the peer is taken for the client. */
  readonly isBehindProxy: boolean;
  readonly address: string;
  readonly scheme: 'http' | 'https';
  /** The port that the client connected to. Undefined: the listener's, or the proxy did not say. */
  readonly port: number | undefined;
}

const maxRemembered = 1_000;

/** Remembers the verdict for each peer: a gateway behind proxies has few peers. */
export function createTrustedProxies(networks: readonly IpNetwork[]): TrustedProxies {
  const known = new Map<string, boolean>();
  return (remoteAddress) => {
    let answer = known.get(remoteAddress);
    if (answer === undefined) {
      const address = parseIpAddress(remoteAddress);
      answer = address !== undefined && networks.some((network) => isInNetwork(address, network));
      if (known.size >= maxRemembered) known.clear();
      known.set(remoteAddress, answer);
    }
    return answer;
  };
}

type ViewedExchange = Pick<Exchange, 'remoteAddress' | 'scheme' | 'headers'>;

/** Reads the headers of trusted proxies; without a trusted proxy the connection itself decides. */
export function viewClient(exchange: ViewedExchange, isTrusted: TrustedProxies | undefined): ClientView {
  const { remoteAddress, scheme, headers } = exchange;
  if (isTrusted?.(remoteAddress) !== true)
    return { isBehindProxy: false, address: remoteAddress, scheme, port: undefined };
  const proto = readFirst(headers, 'x-forwarded-proto')?.toLowerCase();
  const port = readFirst(headers, 'x-forwarded-port');
  return {
    isBehindProxy: true,
    address: findClientAddress(remoteAddress, headers, isTrusted),
    scheme: proto === 'http' || proto === 'https' ? proto : scheme,
    port: port !== undefined && /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535 ? Number(port) : undefined,
  };
}

/** The port that the client used: the listener's, or, behind a proxy, the forwarded port or the default port of the forwarded scheme. */
export function findClientPort(
  { isBehindProxy, scheme, port }: Pick<ClientView, 'isBehindProxy' | 'scheme' | 'port'>,
  listenerPort: number,
): number {
  if (!isBehindProxy) return listenerPort;
  return port ?? (scheme === 'https' ? 443 : 80);
}

/** With several proxies, the one nearest to the client wrote the first value. */
function readFirst(headers: RawHeaders, name: string): string | undefined {
  return findHeader(headers, name)?.split(',', 1)[0]!.trim();
}

/**
 * Every proxy appends the address of its own peer. So the list is read from the end, skipping trusted proxies: a client can forge any entry
 * further to the front.
 */
function findClientAddress(remoteAddress: string, headers: RawHeaders, isTrusted: TrustedProxies): string {
  let address = remoteAddress;
  const listed: string[] = [];
  for (let i = 0; i < headers.length; i += 2)
    if (headers[i]!.toLowerCase() === 'x-forwarded-for') listed.push(...headers[i + 1]!.split(','));
  for (const entry of listed.toReversed()) {
    const next = readAddress(entry.trim());
    if (next === undefined) break;
    address = next;
    if (!isTrusted(next)) break;
  }
  return address;
}

/** Some proxies append the port. */
function readAddress(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  return isIP(address) === 0 ? undefined : address;
}
