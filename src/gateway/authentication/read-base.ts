// Identifiers of a protected resource (RFC 9728 1.2 `resource`) and of its authorization server (RFC 8414 2 `issuer`), and what they are built
// on: {base}, the scheme and authority under which clients reach the gateway.
import { isLoopbackHost } from '../../base/local-names.ts';
import { rememberTexts } from '../../base/text-memory.ts';
import { type ClientView, findClientPort } from '../http/client-view.ts';
import type { ProtectedResource } from '../config/protected-resource.ts';

/** A request, as far as the base depends on it. */
interface BasedRequest {
  readonly exchange: { readonly authority: string };
  readonly client: Pick<ClientView, 'isBehindProxy' | 'scheme' | 'port'>;
}

/**
 * Scheme and authority as the client sees them, without a trailing slash. The host is configured (`ResourceHost`). Scheme and port are those of the
 * listener or of a trusted proxy: with any other source a client could influence which audience is accepted.
 */
export function readBase({ exchange, client }: BasedRequest, { host }: Pick<ProtectedResource, 'host'>): string {
  switch (host.kind) {
    case 'configured':
      return host.origin;
    case 'exact':
      return formatOrigin(`${client.scheme}://${host.hostname}:${findClientPort(client, host.port)}`);
    case 'loopback':
      return formatOrigin(
        `${client.scheme}://${readLoopbackHost(exchange.authority)}:${findClientPort(client, host.port)}`,
      );
    case 'asked':
      return formatOrigin(`${client.scheme}://${exchange.authority}`);
  }
}

/** Whether answers differ with the request, so that no cache may mix them up. */
export function dependsOnRequest({ host }: Pick<ProtectedResource, 'host'>): boolean {
  return host.kind !== 'configured';
}

/** The identifier of the resource: what clients put into `resource` (RFC 8707) and tokens into `aud`. */
export function formatResourceUrl(base: string, resource: Pick<ProtectedResource, 'config' | 'path'>): string {
  const configured = resource.config.message.resource;
  return configured === '' ? `${base}${resource.path}` : configured;
}

/**
 * The audiences that mean a resource: its identifier with and without a slash at the end. Both name the same resource here, and clients
 * that write URLs with a parser cannot leave out the slash of a root.
 */
export function spellResource(url: string): readonly string[] {
  return [url, url.endsWith('/') ? url.slice(0, -1) : `${url}/`];
}

/**
 * The issuer that the gateway is to its clients. Each form of the metadata URL names exactly the identifier that it was derived
 * from: the root form the base alone, every other form the base with the resource's path.
 */
export function formatFacadeIssuer(
  base: string,
  resource: Pick<ProtectedResource, 'path'>,
  isRootForm: boolean = false,
): string {
  return isRootForm ? base : `${base}${resource.path}`;
}

/** The loopback name in the Host header. */
const readLoopbackHost = rememberTexts((authority): string => {
  const hostname = URL.parse(`http://${authority}`)?.hostname ?? '';
  return isLoopbackHost(hostname) ? hostname : 'localhost';
});

/** Lower case, no default port, no user information, no path: as URL parsers of clients write it. Cached: a resource has few origins. */
const formatOrigin = rememberTexts((url): string => {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') ? url : parsed.origin;
});
