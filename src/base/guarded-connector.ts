// Opens connections for the guarded fetcher. The address that is checked is the address that is connected to, so that a name which
// resolves differently the second time (DNS rebinding) does not help an attacker.
import { lookup as lookupWithSystem, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { setTimeout } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import type { AddressChoice, AddressPolicy } from './address-guard.ts';
import { openTunnel } from './egress-tunnel.ts';
import type { LocalGuard } from './local-guard.ts';
import { isInternalName, isLoopbackName } from './local-names.ts';

interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all of its addresses. Throws when it has none. */
export type LookupAddresses = (hostname: string, chosenBy: AddressChoice) => Promise<readonly ResolvedAddress[]>;

/** The address must not be called. */
export class BlockedAddressError extends Error {
  readonly code = 'address_blocked';

  constructor(message: string) {
    super(message);
    this.name = 'BlockedAddressError';
  }
}

export interface ConnectorEnvironment {
  readonly policy: AddressPolicy;
  /** Refuses addresses of this machine. */
  readonly guard?: LocalGuard | undefined;
  readonly lookup: LookupAddresses;
}

interface ConnectorRequest {
  /** Of the URL. */
  readonly port: number;
  /** The egress proxy to tunnel through; undefined: none. */
  readonly proxy: URL | undefined;
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
    const hostname = options.hostname.replace(/^\[|\]$/g, '');
    const { proxy } = request;
    if (proxy !== undefined) {
      callbackify(connectThrough)(environment, proxy, hostname, request, (error, httpSocket) => {
        if (error === null) connect({ ...options, hostname, httpSocket }, callback);
        else callback(error, null);
      });
      return;
    }
    // Node does not look up what is an address already.
    const refusal = isIP(hostname) === 0 ? undefined : refuseAddress(environment, hostname, request);
    if (refusal === undefined) connect({ ...options, hostname }, callback);
    else callback(new BlockedAddressError(`${hostname} is ${refusal}`), null);
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

async function connectThrough(
  environment: ConnectorEnvironment,
  proxy: URL,
  hostname: string,
  request: ConnectorRequest,
): Promise<Socket> {
  await checkProxied(environment, hostname, request);
  return openTunnel(proxy, hostname, request.port, request);
}

/** How long a name that a client chose may take to resolve here before the proxy alone judges it. */
const proxiedLookupMs = 1_000;

/**
 * Checks what a proxy is about to be asked for. The proxy resolves names, so that what it resolves is its own to refuse; here addresses are judged as ever, and
 * names that clients chose must be public ones. If they resolve here as well, it must not be to a refused address.
 */
export async function checkProxied(environment: ConnectorEnvironment, hostname: string, caller: Caller): Promise<void> {
  if (isIP(hostname) !== 0) {
    const refusal = refuseAddress(environment, hostname, caller);
    if (refusal !== undefined) throw new BlockedAddressError(`${hostname} is ${refusal}`);
    return;
  }
  if (caller.chosenBy !== 'client') return;
  if (isInternalName(hostname)) throw new BlockedAddressError(`${hostname} is a name of an internal network`);
  const timer = new AbortController();
  try {
    await Promise.race([
      resolveAllowed(environment, hostname, caller),
      setTimeout(proxiedLookupMs, undefined, { signal: timer.signal }),
    ]);
  } catch (error) {
    // Behind a proxy names of the outside often resolve only there.
    if (error instanceof BlockedAddressError) throw error;
  } finally {
    timer.abort();
  }
}
