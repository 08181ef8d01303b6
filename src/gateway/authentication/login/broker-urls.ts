// The URLs that the broker's steps agree on.
import { formatEndpointPath } from '../../../ir/endpoint-paths.ts';
import type { OAuthRequest } from './oauth-endpoint.ts';
import { formatResourceUrl } from '../read-base.ts';

/** Where a client id is valid: one resource in front of one IdP. Its secret must never reach another one. */
export interface ClientPlace {
  /** Of the IdP. */
  readonly issuer: string;
  /** The URL of the resource, as clients see it. */
  readonly resource: string;
}

/** Where the client ids of this resource are valid. */
export function findPlace({ base, resource }: OAuthRequest): ClientPlace {
  return { issuer: resource.config.idp.issuer, resource: formatResourceUrl(base, resource) };
}

/** The only redirect URI that the IdP ever sees. */
export function formatCallbackUrl({ base, resource }: OAuthRequest): string {
  return `${base}${formatEndpointPath(resource.path, 'callback')}`;
}
