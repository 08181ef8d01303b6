// The URLs that the broker's steps agree on.
import type { ClientPlace } from './client-envelope.ts';
import { formatEndpointPath } from './endpoint-paths.ts';
import type { OAuthRequest } from './oauth-endpoint.ts';
import { formatResourceUrl } from './read-base.ts';

/** Where the client ids of this resource are valid. */
export function findPlace({ base, resource }: OAuthRequest): ClientPlace {
  return { issuer: resource.config.idp.issuer, resource: formatResourceUrl(base, resource) };
}

/** The only redirect URI that the IdP ever sees. */
export function formatCallbackUrl({ base, resource }: OAuthRequest): string {
  return `${base}${formatEndpointPath(resource.path, 'callback')}`;
}
