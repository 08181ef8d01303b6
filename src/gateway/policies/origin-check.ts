// DNS rebinding protection (Model Context Protocol, Streamable HTTP, "Security Warning"). A loopback listener is meant for programs on this
// machine, but any web page in a local browser can send it requests, and by DNS rebinding even under the page's own hostname. So Host and Origin
// must be names of this machine, or names that the operator configured.
import { isLoopbackAddress, isLoopbackHost } from '../../base/local-names.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import type { ListenerConfig, PortConfig } from '../config/runtime-config.ts';
import type { Exchange } from '../http/exchange.ts';

interface OriginCheckInput {
  /** Host or :authority as received. */
  readonly authority: string;
  /** The value of Origin; undefined when there is none (not a browser, or a plain navigation). */
  readonly origin: string | undefined;
  /** The listener is bound to loopback addresses only. Others are not checked. */
  readonly loopbackListener: boolean;
  /** True for a lower-case host name that the operator configured on the listener or its routes. */
  readonly isConfiguredHost?: (hostname: string) => boolean;
  /** True for an Origin that the route's CORS settings allow: the operator has named it. */
  readonly isConfiguredOrigin?: (origin: string) => boolean;
}

type OriginVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'host_not_allowed' | 'origin_not_allowed'; readonly detail: string };

const allowed: OriginVerdict = { ok: true };

/** Judges Host and Origin of a request. */
export function checkOrigin(input: OriginCheckInput): OriginVerdict {
  if (!input.loopbackListener) return allowed;
  const isConfigured = (hostname: string): boolean =>
    // A fully qualified name (with a trailing dot) is the same host, as in the router.
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
  // "null" (a sandboxed page, a file) does not parse and could be any page. Extensions and other schemes are not web origins of this machine.
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
 * Cached because clients use few names for a listener, and parsing one takes as long as the rest of this check. Host names parse alike for
 * http and https: only the default port differs.
 */
const readHost = rememberTexts((authority): ReadHost => {
  const hostname = URL.parse(`http://${authority}`)?.hostname ?? '';
  return { hostname, isLoopback: isLoopbackHost(hostname) };
});

/** Why a request to this port and listener is not from an allowed host or origin; undefined when it is. */
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
    // Browsers send only one; several are joined, which does not parse and is refused.
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

// A listener or route without a hostname, or with a bare `*`, configures no host.
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
