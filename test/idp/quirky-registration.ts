// The quirky identity provider's registration endpoint (RFC 7591).
import { randomBytes, randomUUID } from 'node:crypto';
import { answerError, answerJson, type IdpAnswer, type IdpCall, type IdpState } from './quirky-state.ts';

/** RFC 7591 section 2, and OpenID Connect registration. */
const knownMembers = new Set(
  `redirect_uris token_endpoint_auth_method grant_types response_types client_name client_uri logo_uri scope contacts tos_uri
   policy_uri jwks_uri jwks software_id software_version application_type sector_identifier_uri subject_type
   id_token_signed_response_alg default_max_age require_auth_time default_acr_values initiate_login_uri request_uris
   software_statement`.split(/\s+/),
);

/** Registers a client, or says why not. */
export function register(state: IdpState, call: IdpCall): IdpAnswer {
  const { quirks } = state;
  if (quirks.registrationAnswer !== undefined) return quirks.registrationAnswer;
  if (quirks.registration === 'none') return answerError(404, 'not_found', 'There is no such thing here.');
  const refusal = checkInitialAccessToken(state, call);
  if (refusal !== undefined) return refusal;

  let metadata: Record<string, unknown>;
  try {
    metadata = JSON.parse(call.body) as Record<string, unknown>;
  } catch {
    return answerError(400, 'invalid_client_metadata', 'Not JSON.');
  }
  const redirectUris = metadata['redirect_uris'];
  if (!Array.isArray(redirectUris) || redirectUris.length === 0) {
    return answerError(400, 'invalid_redirect_uri', 'redirect_uris is missing.');
  }
  const unknown = Object.keys(metadata).find((member) => !knownMembers.has(member));
  if (quirks.registrationRefusesUnknownMembers && unknown !== undefined) {
    return answerError(400, 'invalid_client_metadata', `Unrecognized field "${unknown}".`);
  }
  if (refusesScope(state, metadata['scope'])) {
    return quirks.registrationScopeError === '403'
      ? answerError(403, 'insufficient_scope', "Policy 'Allowed Client Scopes' rejected the request.")
      : answerError(400, 'invalid_scope', 'The scope is not allowed.');
  }

  const asked = (metadata['token_endpoint_auth_method'] as string | undefined) ?? 'client_secret_basic';
  const method = quirks.insistsOnMethod ?? asked;
  const withSecret = method !== 'none' || quirks.secretComesWithNone;
  const secret = withSecret ? `secret-${randomBytes(16).toString('hex')}` : undefined;
  const id = `client-${randomUUID()}`;
  if (secret !== undefined) state.secrets.add(secret);
  state.clients.set(id, {
    id,
    secret: method === 'none' ? undefined : secret,
    method,
    redirectUris: redirectUris as string[],
    metadata,
  });
  const management = `management-${randomBytes(16).toString('hex')}`;
  state.secrets.add(management);
  const answer = {
    ...metadata,
    client_id: id,
    client_id_issued_at: Math.floor(Date.now() / 1_000),
    token_endpoint_auth_method: method,
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: management,
    registration_client_uri: `${state.origin}/manage/${id}`,
  };
  return answerJson(quirks.registrationStatus, answer, quirks.talksTooMuch ? tellTales : {});
}

/** Headers that are meant for the identity provider's own clients. */
export const tellTales: Readonly<Record<string, string>> = {
  'www-authenticate': 'Bearer realm="idp-internal"',
  'set-cookie': 'idp-session=idp-internal; Path=/',
  location: 'https://idp-internal.example.com/',
  'x-powered-by': 'idp-internal',
};

function checkInitialAccessToken(state: IdpState, call: IdpCall): IdpAnswer | undefined {
  const { quirks } = state;
  if (quirks.registration !== 'token' && quirks.registration !== 'one-use-token') return undefined;
  const prefix = `${quirks.registrationScheme} `;
  const { authorization = '' } = call.headers;
  const token = authorization.startsWith(prefix) ? authorization.slice(prefix.length) : '';
  if (!state.initialAccessTokens.has(token)) {
    return {
      status: 401,
      headers: {
        'content-type': 'application/json',
        'www-authenticate': 'Bearer error="invalid_token", realm="idp-internal"',
      },
      body: JSON.stringify({ error: 'invalid_token', error_description: 'Initial access token required.' }),
    };
  }
  if (quirks.registration === 'one-use-token') state.initialAccessTokens.delete(token);
  return undefined;
}

function refusesScope({ quirks }: IdpState, scope: unknown): boolean {
  if (typeof scope !== 'string' || quirks.registrationRefusesScope === 'no') return false;
  return quirks.registrationRefusesScope === 'any' || scope.split(' ').includes('openid');
}
