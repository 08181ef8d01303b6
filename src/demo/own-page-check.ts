// Lets only the demo's own page change something or read what the gateway noted: no page of another site, and no name that leads to loopback.
import type { IncomingHttpHeaders } from 'node:http';

/** The two addresses under which a browser on this machine opens the demo. */
function listHosts(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

/** Why a request that changes something is refused. Undefined: it comes from the demo's page. `port` is the port of the gateway. */
export function findForeignChange(headers: IncomingHttpHeaders, port: number): string | undefined {
  const foreign = findForeignRead(headers, port);
  if (foreign !== undefined) return foreign;
  // Browsers send Origin with every POST. It must be the very page that was opened.
  if (headers.origin !== `http://${headers.host}`) return 'Only the page of the demo may change the rule.';
  // A form of another site cannot send this type, and a script of another site is not allowed to (no CORS).
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' ? undefined : 'Send application/json.';
}

/** Why a request that reads is refused. Undefined: it may read. */
export function findForeignRead(headers: IncomingHttpHeaders, port: number): string | undefined {
  const hosts = listHosts(port);
  if (!hosts.includes(headers.host ?? '')) return `The demo is served at ${hosts.join(' and ')} only.`;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'The demo does not accept requests from pages of other sites.';
  return undefined;
}
