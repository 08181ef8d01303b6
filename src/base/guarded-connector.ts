// Opens connections for the guarded fetcher. The address that is checked is the address that is connected to, so that a name which
// resolves differently the second time (DNS rebinding) does not help an attacker.
import { lookup as lookupWithSystem, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { callbackify } from 'node:util';
import { buildConnector, Client } from 'undici';
import type { AddressChoice, AddressPolicy } from './address-guard.ts';
import type { LocalGuard } from './local-guard.ts';
import { isClusterName, isLoopbackName } from './local-names.ts';

interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all of its addresses. Throws when it has none. */
export type LookupAddresses = (hostname: string, chosenBy: AddressChoice) => Promise<readonly ResolvedAddress[]>;

/** An HTTP proxy that calls to the outside go through. */
export interface EgressProxy {
  /** http or https; user and password in it are sent to the proxy. */
  readonly url: string;
  /** Hosts that are called directly: names, domains with all names below them, addresses. Loopback and cluster names always are. */
  readonly bypass?: readonly string[];
}

/** The address must not be called. */
export class BlockedAddressError extends Error {
  readonly code = 'address_blocked';

  constructor(message: string) {
    super(message);
    this.name = 'BlockedAddressError';
  }
}

/** The proxy did not make the connection. */
export class EgressProxyError extends Error {
  readonly code = 'egress_proxy_failed';

  constructor(message: string) {
    super(message);
    this.name = 'EgressProxyError';
  }
}

export interface ConnectorEnvironment {
  readonly policy: AddressPolicy;
  /** Refuses addresses of this machine. */
  readonly guard?: LocalGuard | undefined;
  readonly lookup: LookupAddresses;
  readonly proxy: EgressProxy | undefined;
}

interface ConnectorRequest {
  /** Of the URL. */
  readonly port: number;
  readonly chosenBy: AddressChoice;
  readonly secureContext: SecureContext;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Makes the trust of connections: the given roots, or those of the system. Throws when the PEM cannot be read. */
export function createTrust(ca: string | undefined): SecureContext {
  return createSecureContext({ minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) });
}

/**
 * Resolves names of the operator and of identity providers with the system's resolver: they may be in its hosts file. Names of clients are resolved by DNS
 * only, which has no local names or search domains, and does not occupy the few threads that the system's resolver shares with files.
 */
export const lookupAddresses: LookupAddresses = async (hostname, chosenBy) => {
  if (chosenBy !== 'client') return lookupWithSystem(hostname, { all: true });
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const [ipv6, ipv4] = await Promise.allSettled([resolver.resolve6(hostname), resolver.resolve4(hostname)]);
  const found = [
    ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
    ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason;
  return found;
};

/** Makes the connector of one request. */
export function createGuardedConnector(
  environment: ConnectorEnvironment,
  request: ConnectorRequest,
): buildConnector.connector {
  // Node calls this for every attempt, and connects only to addresses that it returns.
  const lookup: LookupFunction = (hostname, options, callback) => {
    callbackify(resolveAllowed)(environment, hostname, request, (error, addresses) => {
      if (error !== null) callback(error, '', 0);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
  const connect = buildConnector({
    allowH2: false,
    lookup,
    maxCachedSessions: 0,
    secureContext: request.secureContext,
    timeout: request.timeoutMs,
  });
  return (options, callback) => {
    // Node does not look up what is an address already.
    const hostname = options.hostname.replace(/^\[|\]$/g, '');
    const refusal = isIP(hostname) === 0 ? undefined : refuseAddress(environment, hostname, request);
    if (refusal !== undefined) {
      callback(new BlockedAddressError(`${hostname} is ${refusal}`), null);
      return;
    }
    const { proxy } = environment;
    if (proxy === undefined || isBypassed(proxy, hostname)) {
      connect({ ...options, hostname }, callback);
      return;
    }
    callbackify(openTunnel)(environment, proxy, request, hostname, options, (error, httpSocket) => {
      if (error !== null) callback(error, null);
      else if (options.protocol === 'https:') connect({ ...options, hostname, httpSocket }, callback);
      else callback(null, httpSocket);
    });
  };
}

type Caller = Pick<ConnectorRequest, 'chosenBy' | 'port'>;

function refuseAddress(
  { policy, guard }: Pick<ConnectorEnvironment, 'policy' | 'guard'>,
  address: string,
  { chosenBy, port }: Caller,
): string | undefined {
  return policy(address, chosenBy) ?? guard?.(address, port);
}

async function resolveAllowed(
  environment: ConnectorEnvironment,
  hostname: string,
  caller: Caller,
): Promise<readonly ResolvedAddress[]> {
  const addresses = isLoopbackName(hostname)
    ? [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ]
    : await environment.lookup(hostname, caller.chosenBy);
  const refusals = addresses.map(({ address }) => refuseAddress(environment, address, caller));
  const allowed = addresses.filter((_, index) => refusals[index] === undefined);
  if (allowed.length > 0) return allowed;
  if (addresses.length === 0) throw Object.assign(new Error('the name has no address'), { code: 'ENODATA' });
  throw new BlockedAddressError(`${hostname} resolves to ${refusals[0] ?? 'an address that is not called'}`);
}

/** RFC 9110 9.3.6. The proxy resolves names of the operator; for names of clients it gets the address that was checked here. */
async function openTunnel(
  environment: ConnectorEnvironment,
  proxy: EgressProxy,
  request: ConnectorRequest,
  hostname: string,
  options: buildConnector.Options,
): Promise<Socket> {
  const isName = isIP(hostname) === 0;
  const checked =
    request.chosenBy === 'client' && isName ? await resolveAllowed(environment, hostname, request) : undefined;
  const target = checked?.[0]?.address ?? hostname;
  const port = options.port === '' ? (options.protocol === 'https:' ? '443' : '80') : options.port;
  const authority = `${isIP(target) === 6 ? `[${target}]` : target}:${port}`;
  const url = new URL(proxy.url);
  const client = new Client(url.origin, { pipelining: 0, connect: { allowH2: false, timeout: request.timeoutMs } });
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { host: authority, ...formatProxyCredentials(url) },
      signal: request.signal,
    });
    const tunnel = socket as Socket;
    if (statusCode === 200) return tunnel;
    tunnel.on('error', () => {}).destroy();
    throw new EgressProxyError(`the egress proxy ${url.host} answers ${statusCode}`);
  } catch (error) {
    if (error instanceof EgressProxyError) throw error;
    throw new EgressProxyError(`the egress proxy ${url.host} cannot be reached`);
  } finally {
    // The tunnel is detached from the client by now.
    void client.destroy();
  }
}

function formatProxyCredentials(url: URL): Record<string, string> {
  if (url.username === '') return {};
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function isBypassed(proxy: EgressProxy, hostname: string): boolean {
  if (isLoopbackName(hostname) || isClusterName(hostname) || hostname === '::1' || hostname.startsWith('127.')) {
    return true;
  }
  return (proxy.bypass ?? []).some((entry) => {
    const domain = entry.toLowerCase().replace(/^\*?\./, '');
    return hostname === domain || (isIP(hostname) === 0 && hostname.endsWith(`.${domain}`));
  });
}
