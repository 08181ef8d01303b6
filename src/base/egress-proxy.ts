// The proxy for calls to the outside, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY name it. Pure.
import { isIP } from 'node:net';
import { type IpNetwork, isInNetwork, parseIpAddress, parseIpNetwork } from './ip-network.ts';
import { isClusterName, isLoopbackHost } from './local-names.ts';

/** HTTP proxies that calls to the outside go through. */
export interface EgressProxy {
  /** For https URLs, which go through a tunnel; undefined: they are called directly. User and password in it are sent to the proxy. */
  readonly https: URL | undefined;
  /** The same for http URLs, which the proxy requests itself. */
  readonly http: URL | undefined;
  /** Hosts that are called directly. Loopback and cluster names always are. */
  readonly bypass: readonly BypassRule[];
}

/** An entry of NO_PROXY; without a port it is for every port. */
interface BypassRule {
  readonly host: string | IpNetwork | typeof everyHost;
  readonly port: string | undefined;
}

const everyHost = Symbol('every host');

/** The proxy, undefined when none is set; or what is wrong with the variable that it names. */
export type EgressProxyReading =
  | { readonly ok: true; readonly proxy: EgressProxy | undefined }
  | { readonly ok: false; readonly problem: string };

/** Reads the variables. Lower case wins over upper case, and an empty variable is no variable, as with other programs. */
export function readEgressProxy(environment: Readonly<Record<string, string | undefined>>): EgressProxyReading {
  const https = readProxyUrl(environment, 'HTTPS_PROXY');
  if (!https.ok) return https;
  const http = readProxyUrl(environment, 'HTTP_PROXY');
  if (!http.ok) return http;
  if (https.url === undefined && http.url === undefined) return { ok: true, proxy: undefined };
  const [, written] = findVariable(environment, 'NO_PROXY') ?? [];
  return { ok: true, proxy: { https: https.url, http: http.url, bypass: readBypass(written ?? '') } };
}

/** The proxy for a URL; undefined: it is called directly. */
export function chooseProxy(proxy: EgressProxy | undefined, url: URL): URL | undefined {
  const chosen = url.protocol === 'https:' ? proxy?.https : proxy?.http;
  if (proxy === undefined || chosen === undefined) return undefined;
  const hostname = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isLoopbackHost(url.hostname) || isClusterName(hostname)) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return proxy.bypass.some((rule) => matchesBypass(rule, hostname, port)) ? undefined : chosen;
}

type UrlReading =
  | { readonly ok: true; readonly url: URL | undefined }
  | { readonly ok: false; readonly problem: string };

function readProxyUrl(environment: Readonly<Record<string, string | undefined>>, name: string): UrlReading {
  const found = findVariable(environment, name);
  if (found === undefined) return { ok: true, url: undefined };
  const [variable, written] = found;
  // `proxy.example.com:3128` is common. The value may hold a password: messages do not quote it.
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  const example = 'such as http://proxy.example.com:3128';
  if (url === null) return { ok: false, problem: `${variable}: must be the URL of a proxy, ${example}` };
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return {
      ok: false,
      problem: `${variable}: proxies of the kind ${url.protocol}// are not supported; name an HTTP proxy, ${example}`,
    };
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return { ok: false, problem: `${variable}: must have no path and no query, ${example}` };
  if (!canDecode(url.username) || !canDecode(url.password))
    return {
      ok: false,
      problem: `${variable}: has a user or password with a "%" that encodes nothing; write it as %25`,
    };
  return { ok: true, url };
}

function findVariable(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): readonly [name: string, value: string] | undefined {
  for (const variable of [name.toLowerCase(), name]) {
    const value = environment[variable]?.trim();
    if (value !== undefined && value !== '') return [variable, value];
  }
  return undefined;
}

/** Entries that name nothing are harmless: a host that is not listed goes through the proxy. */
function readBypass(written: string): readonly BypassRule[] {
  return written
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map(readBypassRule);
}

function readBypassRule(entry: string): BypassRule {
  if (entry === '*') return { host: everyHost, port: undefined };
  const whole = parseIpNetwork(entry);
  if (whole !== undefined) return { host: whole, port: undefined };
  const [, bracketed, name, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
  const host = (bracketed ?? name ?? entry.toLowerCase()).replace(/\.$/, '');
  return { host: parseIpNetwork(host) ?? host.replace(/^\*?\./, ''), port };
}

function matchesBypass({ host, port }: BypassRule, hostname: string, calledPort: string): boolean {
  if (port !== undefined && port !== calledPort) return false;
  if (host === everyHost) return true;
  if (typeof host === 'string') return isIP(hostname) === 0 && (hostname === host || hostname.endsWith(`.${host}`));
  const address = parseIpAddress(hostname);
  return address !== undefined && isInNetwork(address, host);
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
