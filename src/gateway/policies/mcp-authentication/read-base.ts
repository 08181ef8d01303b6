// Identifiers of a protected resource (RFC 9728 1.2 `resource`) and of its authorization server (RFC 8414 2 `issuer`), and what they are built
// on: {base}, the scheme and authority under which clients reach the gateway.
import { rememberTexts } from '../../../base/text-memory.ts';
import type { ClientView } from '../../client-view.ts';
import type { ProtectedResource } from './protected-resource.ts';

/** A request, as far as the base depends on it. */
interface BasedRequest {
  readonly exchange: { readonly scheme: 'http' | 'https'; readonly authority: string };
  readonly client: Pick<ClientView, 'scheme' | 'authority'>;
}

/**
 * Scheme and authority as the client sees them, without a slash at the end. The configured resource decides; without one it is
 * what the connection and Host say. Forwarded headers count from a trusted proxy only: anybody else could poison metadata with them.
 */
export function readBase({ exchange, client }: BasedRequest, resource: Pick<ProtectedResource, 'config'>): string {
  const configured = resource.config.message.resource;
  if (configured !== '') return formatOrigin(configured) ?? configured;
  const seen = `${exchange.scheme}://${exchange.authority}`;
  return formatOrigin(`${client.scheme}://${client.authority}`) ?? formatOrigin(seen) ?? seen;
}

/** Whether answers differ with the Host of the request, so that no cache may mix them up. */
export function dependsOnHost(resource: Pick<ProtectedResource, 'config'>): boolean {
  return resource.config.message.resource === '';
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

/** Lower case, no default port, no user information, no path: as URL parsers of clients write it. */
function formatOrigin(url: string): string | undefined {
  return formatKnown(url) || undefined;
}

/** Every request to a resource that is known by its route has one, and they are few. Empty: it is no URL of the web. */
const formatKnown = rememberTexts((url) => {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') ? '' : parsed.origin;
});
