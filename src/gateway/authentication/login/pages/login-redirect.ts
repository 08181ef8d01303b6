// The way to the IdP and back to the client: the authorization request that the IdP sees (RFC 6749 4.1.1), and the redirects that carry the
// outcome (4.1.2, RFC 9207).
import { randomBytes } from 'node:crypto';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { Reason } from '../../../http/reasons.ts';
import { formatCallbackUrl } from '../broker-urls.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { cleanText } from './html-page.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { OAuthAnswer, OAuthRequest } from '../oauth-endpoint.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import { listIdentityScopes } from '../identity/identity-scopes.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { formatFacadeIssuer, formatResourceUrl } from '../../read-base.ts';
import { appendToRedirectUri } from '../redirect-uri.ts';
import { joinScopes, splitScope } from '../request-parameters.ts';
import type { LoginTransaction } from '../state/transaction-state.ts';

/** The value of `resource` for the IdP; undefined where the IdP does not accept it, or its tokens are not for the resource. */
export function findResourceParameter({ base, resource }: OAuthRequest): string | undefined {
  if (resource.config.issuer !== undefined) return undefined;
  const { resourceParameter = 'resource' } = resource.config.preset;
  return resourceParameter === 'resource' ? formatResourceUrl(base, resource) : undefined;
}

/** The IdP's authorization endpoint; undefined when its metadata has none that a browser may be sent to. */
export function findAuthorizationEndpoint(metadata: IdpMetadata): URL | undefined {
  const url = metadata.authorization_endpoint === undefined ? null : URL.parse(metadata.authorization_endpoint);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
}

/** Redirects the browser to the IdP. The gateway's parameters override the policy's extra parameters, and those override the client's. */
export function redirectToIdp(
  request: OAuthRequest,
  { endpoint, metadata }: { readonly endpoint: URL; readonly metadata: IdpMetadata },
  login: Pick<LoginTransaction, 'scope' | 'challenge' | 'resource' | 'nonce'>,
  idpClient: IdpClient,
  passedOn: Readonly<Record<string, string>>,
  state: string,
  headers: RawHeaders,
): OAuthAnswer {
  const { config } = request.resource;
  const url = new URL(endpoint);
  const parameters = url.searchParams;
  const audience = findAudienceParameter(request, config);
  const { issuer } = config;
  const scope = issuer === undefined ? login.scope : joinScopes(listIdentityScopes(config, issuer.identity, metadata));
  const isOpenId = splitScope(scope).includes('openid');
  const all: Readonly<Record<string, string | undefined>> = {
    ...(isOpenId && { nonce: createNonce() }),
    ...(audience !== undefined && { audience }),
    ...passedOn,
    ...(config.issuer !== undefined && addIdentityParameters(config.preset, passedOn)),
    ...config.message.extraParameters,
    // Compared with the ID token later.
    ...(isOpenId && login.nonce !== undefined && { nonce: login.nonce }),
    response_type: 'code',
    client_id: idpClient.clientId,
    redirect_uri: formatCallbackUrl(request),
    ...(scope !== '' && { scope }),
    ...(login.resource !== undefined && { resource: login.resource }),
    code_challenge: login.challenge,
    code_challenge_method: 'S256',
    state,
  };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) parameters.set(name, value);
  return redirect(request, url.href, headers);
}

/** A value that only this login has. */
export function createNonce(): string {
  return randomBytes(16).toString('base64url');
}

/** Parameters without which the identity provider gives no refresh token. Its `prompt` comes on top of the client's, unless that is `none`. */
function addIdentityParameters(
  { identity }: ProviderPreset,
  passedOn: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { prompt = '', ...others } = identity?.authorizationParameters ?? {};
  const asked = splitScope(passedOn['prompt']);
  if (prompt === '' || asked.includes('none')) return others;
  return { ...others, prompt: joinScopes(asked, splitScope(prompt)) };
}

/** The error that the client gets in place of a code (RFC 6749 4.1.2.1). */
export interface AuthorizationFailure {
  readonly error: string;
  readonly error_description: string | undefined;
}

/** Where the client waits for the outcome of a login. */
export type WayBack = Pick<LoginTransaction, 'redirectUri' | 'clientState' | 'isRoot'>;

/** The URL that takes the outcome of a login to the client. */
export function formatWayBack(
  request: OAuthRequest,
  login: WayBack,
  outcome: { readonly code: string } | AuthorizationFailure,
): string {
  return appendToRedirectUri(login.redirectUri, {
    ...outcome,
    state: login.clientState,
    iss: formatFacadeIssuer(request.base, request.resource, login.isRoot),
  });
}

/** Sends the browser back to the client with the outcome of the login. */
export function redirectToClient(
  request: OAuthRequest,
  login: WayBack,
  outcome: { readonly code: string } | AuthorizationFailure,
  options: { readonly headers?: RawHeaders; readonly reason?: Reason; readonly detail?: string } = {},
): OAuthAnswer {
  const location = formatWayBack(request, login, outcome);
  const { reason, detail } = options;
  return {
    ...redirect(request, location, options.headers ?? []),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail: cleanText(detail, 500) }),
  };
}

/** After a form the next request has to be a GET; 303 says so. */
function redirect({ context }: OAuthRequest, location: string, headers: RawHeaders): OAuthAnswer {
  return {
    status: context.exchange.method === 'POST' ? 303 : 302,
    headers: ['location', location, 'cache-control', 'no-store', 'referrer-policy', 'no-referrer', ...headers],
    body: '',
  };
}

/** For IdPs that identify the resource by an API identifier: the audience that tokens must have. */
function findAudienceParameter(
  { base, resource }: OAuthRequest,
  { preset, message }: McpAuthenticationConfig,
): string | undefined {
  if (preset.resourceParameter !== 'audience' || resource.config.issuer !== undefined) return undefined;
  return message.audiences[0] ?? formatResourceUrl(base, resource);
}
