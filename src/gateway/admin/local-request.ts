// Restricts the admin pages to programs on this machine and to pages of the admin server itself. Web pages of other sites in a
// browser on this machine have no access (DNS rebinding, cross-site requests).
import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Why a request is refused. */
interface LocalRefusal {
  readonly reason: 'host_not_allowed' | 'origin_not_allowed';
  readonly description: string;
}

/** What of a request decides. */
type LocalRequestHead = Pick<IncomingMessage, 'method' | 'headers'> & {
  readonly socket: { readonly localAddress?: string | undefined };
};

const foreignHost: LocalRefusal = {
  reason: 'host_not_allowed',
  description: 'The admin pages are served only on localhost and on their own address. Use one of these as the host.',
};
const foreignOrigin: LocalRefusal = {
  reason: 'origin_not_allowed',
  description: 'The admin pages do not accept requests from web pages of another origin.',
};

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Undefined: the request may pass. */
export function checkLocalRequest(request: LocalRequestHead): LocalRefusal | undefined {
  const host = request.headers.host ?? '';
  const address = readHost(host);
  if (address === undefined || !isOwnHost(address, request.socket.localAddress)) return foreignHost;
  const { origin } = request.headers;
  // The origin must be the very page that we serve: same host, same port.
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return foreignOrigin;
  return isForeignFetch(request) ? foreignOrigin : undefined;
}

/** Browsers mark requests of other sites (Sec-Fetch-Site); following a link to an admin page is still allowed. */
function isForeignFetch(request: LocalRequestHead): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return !(
    request.method === 'GET' &&
    request.headers['sec-fetch-mode'] === 'navigate' &&
    request.headers['sec-fetch-dest'] === 'document'
  );
}

/** Host without its port and brackets, in lower case. */
function readHost(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

function isOwnHost(host: string, localAddress: string | undefined): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  if (isIPv4(host) && loopback.check(host, 'ipv4')) return true;
  if (isIPv6(host) && loopback.check(host, 'ipv6')) return true;
  // Bound to more than loopback: an address cannot be rebound the way a name can.
  return host === localAddress?.toLowerCase().replace(/^::ffff:/, '');
}
