// Who the client is and what it asked for, where trusted proxies stand in between (X-Forwarded-For, -Proto, -Port). The host is not theirs to say: routes know requests by Host. Headers of anybody else are
// not believed: whoever may write them can be whom they like.
import { isIP } from 'node:net';
import { type IpNetwork, isInNetwork, parseIpAddress } from '../../base/ip-network.ts';
import { findHeader } from './headers.ts';
import type { Exchange, RawHeaders } from './exchange.ts';

/** True for a peer whose own X-Forwarded-* are believed. */
export type TrustedProxies = (remoteAddress: string) => boolean;

/** A request as its client sees it. */
export interface ClientView {
  /** False: the peer is the client, as far as anybody knows. */
  readonly isBehindProxy: boolean;
  readonly address: string;
  readonly scheme: 'http' | 'https';
  /** The port that the client connected to; undefined: nobody says, or it is the listener's. */
  readonly port: number | undefined;
}

const maxRemembered = 1_000;

/** Makes the question cheap: the peers of a gateway behind proxies are few. */
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

/** Reads what trusted proxies say; without any it is what the connection says. */
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

/** The port that the client knows: that of the listener, or, behind a proxy, what the proxy says or its scheme means. */
export function findClientPort(
  { isBehindProxy, scheme, port }: Pick<ClientView, 'isBehindProxy' | 'scheme' | 'port'>,
  listenerPort: number,
): number {
  if (!isBehindProxy) return listenerPort;
  return port ?? (scheme === 'https' ? 443 : 80);
}

/** Of several proxies the one nearest to the client wrote the first value. */
function readFirst(headers: RawHeaders, name: string): string | undefined {
  return findHeader(headers, name)?.split(',', 1)[0]!.trim();
}

/**
 * Every proxy adds the address that it was asked from at the end. So the list is read from there, past the proxies that are trusted: what stands further
 * in front may be anybody's invention.
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

/** Some proxies write the port as well. */
function readAddress(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  return isIP(address) === 0 ? undefined : address;
}
