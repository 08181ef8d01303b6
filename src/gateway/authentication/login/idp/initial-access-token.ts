// The gateway's own credential for registering clients (RFC 7591 3): none, a token of the operator, or a fresh one for each registration,
// by the client credentials grant (RFC 6749 4.4), for IdPs whose tokens work once. It goes to the IdP and nowhere else.
import { fetchJsonObject } from '../../../../base/fetch-json.ts';
import { findChoice } from './chosen-by.ts';
import { hideSecrets } from './hide-secrets.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

export type InitialAccessToken =
  /** The value of Authorization; undefined: none is sent. */
  | { readonly ok: true; readonly authorization: string | undefined }
  /** `isTemporary`: trying again may help. */
  | { readonly ok: false; readonly isTemporary: boolean; readonly detail: string };

/** The client that gets initial access tokens for the gateway; undefined: there is none. */
export function findRegistrar(config: McpAuthenticationConfig, metadata: IdpMetadata): IdpClient | undefined {
  const from = config.message.registration?.initialAccessTokenFrom;
  if (from === undefined) return undefined;
  return {
    clientId: from.clientId,
    secret: config.clientCredentialsSecret ?? '',
    authMethod: shouldPostSecret(metadata) ? 'client_secret_post' : 'client_secret_basic',
  };
}

/** Gets the credential for one registration. */
export async function getInitialAccessToken(
  config: McpAuthenticationConfig,
  metadata: IdpMetadata,
): Promise<InitialAccessToken> {
  const from = config.message.registration?.initialAccessTokenFrom;
  const scheme = config.preset.initialAccessTokenScheme ?? 'Bearer';
  if (from === undefined) {
    const token = config.initialAccessToken;
    if (token === undefined || token === '') return { ok: true, authorization: undefined };
    return formatAuthorization(scheme, token.trim());
  }
  const { token_endpoint: url } = metadata;
  if (url === undefined) return fail('the metadata of the IdP has no token_endpoint for the initial access token');
  const secret = config.clientCredentialsSecret ?? '';
  const usesPost = shouldPostSecret(metadata);
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (from.scope !== '') form.set('scope', from.scope);
  if (usesPost) {
    form.set('client_id', from.clientId);
    form.set('client_secret', secret);
  }
  const outcome = await fetchJsonObject(config.idp.fetcher, {
    url,
    method: 'POST',
    chosenBy: findChoice(url, config.message),
    ca: config.ca,
    allowInsecureHttp: config.message.allowInsecureHttp,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(!usesPost && { authorization: formatBasic(from.clientId, secret) }),
    },
    body: form.toString(),
  });
  if (!outcome.ok) {
    const { status = 0, code, message } = outcome;
    const isTemporary = (code !== 'redirect' && code !== 'not_json') || status >= 500 || status === 200;
    return { ok: false, isTemporary, detail: `the initial access token cannot be fetched: ${message}` };
  }
  const { access_token: token, error } = outcome.value;
  if (outcome.status === 200 && typeof token === 'string' && token !== '') return formatAuthorization(scheme, token);
  const why =
    typeof error === 'string'
      ? `${outcome.status} ${hideSecrets(error, [secret]).slice(0, 100)}`
      : String(outcome.status);
  return {
    ok: false,
    isTemporary: outcome.status >= 500,
    detail: `the IdP gives no initial access token to the client ${from.clientId}: ${why}`,
  };
}

/** RFC 8414 2: absent means client_secret_basic, which RFC 6749 requires of every server. */
function shouldPostSecret({ token_endpoint_auth_methods_supported: listed }: IdpMetadata): boolean {
  return listed !== undefined && !listed.includes('client_secret_basic') && listed.includes('client_secret_post');
}

/** RFC 6749 2.3.1: both are form-encoded before they are joined. */
function formatBasic(clientId: string, secret: string): string {
  const encode = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret)}`).toString('base64')}`;
}

function formatAuthorization(scheme: string, token: string): InitialAccessToken {
  // A line break in a Secret is a common mistake, and must not start a new header.
  if (!/^[\x21-\x7E]+$/.test(token)) return fail('the initial access token has characters that no header can carry');
  return { ok: true, authorization: `${scheme} ${token}` };
}

function fail(detail: string): InitialAccessToken {
  return { ok: false, isTemporary: false, detail };
}
