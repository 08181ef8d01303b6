// DNS rebinding protection (Model Context Protocol, Streamable HTTP, "Security Warning"). A listener on loopback is meant for programs on this
// machine, but every web page in a browser on this machine can send it requests, under its own name when it plays with DNS. So Host and Origin
// must be names of this machine, or names that the operator configured.
import { isLoopbackAddress, isLoopbackHost } from '../../base/local-names.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import type { ListenerConfig, PortConfig } from '../config/runtime-config.ts';
import type { Exchange } from '../http/exchange.ts';

export interface OriginCheckInput {
  /** Host or :authority as received. */
  readonly authority: string;
  /** The value of Origin; undefined when there is none (not a browser, or a plain navigation). */
  readonly origin: string | undefined;
  /** The listener is bound to loopback addresses only. Others are not checked. */
  readonly loopbackListener: boolean;
  /** True for a lower-case host name that the operator configured on the listener or its routes. */
  readonly isConfiguredHost?: (hostname: string) => boolean;
  /** True for an Origin that CORS settings of the route let in: the operator has named it. */
  readonly isConfiguredOrigin?: (origin: string) => boolean;
}

export type OriginVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'host_not_allowed' | 'origin_not_allowed'; readonly detail: string };

const allowed: OriginVerdict = { ok: true };

/** Judges Host and Origin of a request. */
export function checkOrigin(input: OriginCheckInput): OriginVerdict {
  if (!input.loopbackListener) return allowed;
  const isConfigured = (hostname: string): boolean =>
    // A fully qualified name (with a dot at its end) is the same host, as it is to the router.
    input.isConfiguredHost?.(hostname.replace(/\.$/, '')) === true;

  const host = readHost(input.authority);
  if (!host.isLoopback && (host.hostname === '' || !isConfigured(host.hostname))) {
    return {
      ok: false,
      reason: 'host_not_allowed',
      detail: `Host ${JSON.stringify(input.authority)} is neither loopback nor configured`,
    };
  }
  if (input.origin === undefined || input.isConfiguredOrigin?.(input.origin) === true) return allowed;
  const origin = URL.parse(input.origin);
  // "null" (a sandboxed page, a file) parses as nothing and could be anybody. Extensions and other schemes are not web origins of this machine.
  if (
    origin === null ||
    (origin.protocol !== 'http:' && origin.protocol !== 'https:') ||
    !(isLoopbackHost(origin.hostname) || isConfigured(origin.hostname))
  ) {
    return {
      ok: false,
      reason: 'origin_not_allowed',
      detail: `Origin ${JSON.stringify(input.origin)} is neither loopback nor configured`,
    };
  }
  return allowed;
}

/** A Host as a URL parser reads it; empty: it cannot be read. */
interface ReadHost {
  readonly hostname: string;
  readonly isLoopback: boolean;
}

/**
 * Clients of a listener use few names for it, and reading one takes as long as all else that happens to their requests here. It is the same for
 * http and https: they differ in the port that goes without saying.
 */
const readHost = rememberTexts((authority): ReadHost => {
  const hostname = URL.parse(`http://${authority}`)?.hostname ?? '';
  return { hostname, isLoopback: isLoopbackHost(hostname) };
});

/** What is foreign about a request to this port and listener; undefined when nothing is. */
export function findForeignCaller(
  exchange: Pick<Exchange, 'authority' | 'headers'>,
  port: Pick<PortConfig, 'address'>,
  listener: ListenerConfig,
  isConfiguredOrigin?: (origin: string) => boolean,
): { readonly reason: 'host_not_allowed' | 'origin_not_allowed'; readonly detail: string } | undefined {
  if (!isLoopbackPort(port)) return undefined;
  const { headers } = exchange;
  let origin: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    // Several cannot be a browser's; joined they parse as nothing and are refused.
    if (name.length === 6 && name.toLowerCase() === 'origin')
      origin = origin === undefined ? headers[i + 1]! : `${origin}, ${headers[i + 1]!}`;
  }
  // Nearly every request.
  if (origin === undefined && readHost(exchange.authority).isLoopback) return undefined;
  const verdict = checkOrigin({
    authority: exchange.authority,
    origin,
    loopbackListener: true,
    isConfiguredHost: (hostname) => isConfiguredHost(listener, hostname),
    ...(isConfiguredOrigin === undefined ? {} : { isConfiguredOrigin }),
  });
  return verdict.ok ? undefined : verdict;
}

const loopbackPorts = new WeakMap<Pick<PortConfig, 'address'>, boolean>();

function isLoopbackPort(port: Pick<PortConfig, 'address'>): boolean {
  let isLoopback = loopbackPorts.get(port);
  if (isLoopback === undefined) {
    isLoopback = isLoopbackAddress(port.address);
    loopbackPorts.set(port, isLoopback);
  }
  return isLoopback;
}

// A listener or route without a hostname, or with a bare `*`, names nobody.
function isConfiguredHost(listener: ListenerConfig, hostname: string): boolean {
  if (matchesConfigured(listener.hostname, hostname)) return true;
  const routes = listener.routes.find(hostname);
  return routes !== undefined && routes !== listener.routes.any;
}

function matchesConfigured(configured: string, hostname: string): boolean {
  if (configured === '' || configured === '*') return false;
  if (!configured.startsWith('*.')) return configured === hostname;
  return hostname.endsWith(configured.slice(1)) && hostname.length > configured.length - 1;
}
