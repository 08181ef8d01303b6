// The quirky identity provider's token endpoint (RFC 6749, RFC 7636, RFC 9068).
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { describePerson, formatSubject, selectMembers } from './quirky-people.ts';
import { tellTales } from './quirky-registration.ts';
import {
  answerError,
  answerJson,
  type Grant,
  type IdpAnswer,
  type IdpCall,
  type IdpState,
  readClock,
  type RegisteredClient,
} from './quirky-state.ts';

/** Redeems a code or a refresh token, or hands out an initial access token. */
export async function redeem(state: IdpState, call: IdpCall): Promise<IdpAnswer> {
  const form = new URLSearchParams(call.body);
  const grantType = form.get('grant_type');
  const { quirks } = state;
  if (grantType === 'refresh_token' && quirks.refreshAnswer !== undefined) return quirks.refreshAnswer;
  if (grantType !== 'refresh_token' && quirks.tokenAnswer !== undefined) return quirks.tokenAnswer;
  if (quirks.resource === 'refused' && form.has('resource'))
    return answerError(400, 'invalid_target', 'AADSTS901002: resource.');
  if (quirks.resource === 'one-only' && form.getAll('resource').length > 1) {
    return answerError(400, 'invalid_request', 'duplicated parameter');
  }
  const client = authenticateClient(state, call, form);
  if (client === undefined) {
    return {
      status: 401,
      headers: { 'content-type': 'application/json', ...(quirks.talksTooMuch ? tellTales : {}) },
      body: JSON.stringify({ error: 'invalid_client', error_description: 'Client authentication failed.' }),
    };
  }
  if (grantType === 'authorization_code') return redeemCode(state, form, client);
  if (grantType === 'refresh_token') return redeemRefreshToken(state, form, client);
  if (grantType === 'client_credentials' && client.method !== 'none') return issueInitialAccessToken(state);
  return answerError(400, 'unsupported_grant_type', 'No such grant here.');
}

function authenticateClient(state: IdpState, call: IdpCall, form: URLSearchParams): RegisteredClient | undefined {
  const basic = /^Basic (.+)$/.exec(call.headers.authorization ?? '')?.[1];
  const [basicId, basicSecret] =
    basic === undefined
      ? []
      : Buffer.from(basic, 'base64')
          .toString('utf8')
          .split(':')
          .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
  const client = state.clients.get(basicId ?? form.get('client_id') ?? '');
  if (client === undefined) return undefined;
  // Exactly the registered method, as strict servers have it: a secret too many is as wrong as one too few.
  const used = basic !== undefined ? 'client_secret_basic' : form.has('client_secret') ? 'client_secret_post' : 'none';
  const accepted =
    client.method === 'as-listed'
      ? (state.quirks.tokenEndpointAuthMethods ?? ['client_secret_basic'])
      : [client.method];
  if (!accepted.includes(used) || (basic !== undefined && form.has('client_secret'))) return undefined;
  return client.secret === (basicSecret ?? form.get('client_secret') ?? undefined) ? client : undefined;
}

function redeemCode(state: IdpState, form: URLSearchParams, client: RegisteredClient): Promise<IdpAnswer> | IdpAnswer {
  const code = form.get('code') ?? '';
  const issued = state.codes.get(code);
  if (issued === undefined) {
    // RFC 6749 4.1.2: a code used twice ends what it gave.
    if (state.redeemedCodes.has(code))
      for (const [token, grant] of state.refreshTokens)
        if (grant.clientId === client.id) state.refreshTokens.delete(token);
    return answerError(400, 'invalid_grant', 'The code is unknown or was used.');
  }
  state.codes.delete(code);
  state.redeemedCodes.add(code);
  if (issued.clientId !== client.id) return answerError(400, 'invalid_grant', 'The code is for another client.');
  if (issued.redirectUri !== form.get('redirect_uri'))
    return answerError(400, 'invalid_grant', 'redirect_uri differs.');
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (issued.challenge !== challenge && !state.quirks.ignoresPkce)
    return answerError(400, 'invalid_grant', 'The code verifier is wrong.');
  const resource = form.get('resource') ?? undefined;
  if (resource !== undefined && resource !== issued.resource && state.quirks.resource !== 'ignored') {
    return answerError(400, 'invalid_target', 'resource was not on the authorization request.');
  }
  if (state.quirks.secondLoginEndsFirst) {
    for (const [token, grant] of state.refreshTokens) {
      if (grant.user === issued.user && grant.clientId === issued.clientId) state.refreshTokens.delete(token);
    }
  }
  return issueTokens(state, issued, client);
}

function redeemRefreshToken(
  state: IdpState,
  form: URLSearchParams,
  client: RegisteredClient,
): Promise<IdpAnswer> | IdpAnswer {
  const token = form.get('refresh_token') ?? '';
  const grant = state.refreshTokens.get(token);
  if (grant === undefined || grant.clientId !== client.id || state.removedUsers.has(grant.user))
    return refuseRefreshToken(state);
  const resource = form.get('resource') ?? undefined;
  if (resource !== undefined && grant.resource !== undefined && resource !== grant.resource)
    return answerError(400, 'invalid_target', 'resource was not granted.');
  if (state.quirks.rotatesRefreshTokens) state.refreshTokens.delete(token);
  return issueTokens(state, grant, client, { isRotated: state.quirks.rotatesRefreshTokens, token });
}

function refuseRefreshToken({ quirks }: IdpState): IdpAnswer {
  switch (quirks.deadRefreshToken) {
    case 'invalid_request':
      return answerError(
        400,
        'invalid_request',
        'Refresh token is invalid or has already been claimed by another client.',
      );
    case '403 invalid_code':
      return answerError(403, 'invalid_code', 'The token was used.');
    case 'empty 400':
      return { status: 400 };
    default:
      return answerError(400, 'invalid_grant', 'The refresh token is unknown.');
  }
}

function issueInitialAccessToken(state: IdpState): IdpAnswer {
  const token = `initial-${randomBytes(16).toString('hex')}`;
  state.initialAccessTokens.add(token);
  state.secrets.add(token);
  return answerJson(200, { access_token: token, token_type: 'Bearer', expires_in: 60 });
}

async function issueTokens(
  state: IdpState,
  grant: Grant,
  client: RegisteredClient,
  refreshed?: { readonly isRotated: boolean; readonly token: string },
): Promise<IdpAnswer> {
  const { quirks } = state;
  const scopes = new Set(grant.scope.split(' '));
  const wantsRefresh =
    quirks.refreshTokens === 'all' ||
    (quirks.refreshTokens === 'confidential-clients' && client.method !== 'none') ||
    (quirks.refreshTokens === 'with-offline_access' && scopes.has('offline_access')) ||
    (quirks.refreshTokens === 'with-access_type' && grant.isOffline === true);
  const kept = refreshed?.isRotated === false ? refreshed.token : undefined;
  const refreshToken = wantsRefresh ? (kept ?? `refresh-${randomBytes(16).toString('hex')}`) : undefined;
  if (refreshToken !== undefined) state.refreshTokens.set(refreshToken, grant);
  const isTold = refreshToken !== undefined && (kept === undefined || !quirks.keepsRefreshTokenToItself);
  const accessToken = await createAccessToken(state, grant);
  state.accessTokens.set(accessToken, grant);
  const wantsIdToken =
    scopes.has('openid') && !quirks.omitsIdToken && (refreshed === undefined || !quirks.omitsIdTokenOnRefresh);
  // OpenID Connect Core 12.2: a refreshed one has no nonce.
  const person = refreshed === undefined ? grant : { ...grant, nonce: undefined };
  return answerJson(
    200,
    {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: quirks.accessTokenSeconds,
      scope: grant.scope,
      ...(isTold ? { refresh_token: refreshToken } : {}),
      ...(wantsIdToken ? { id_token: await createIdToken(state, person, accessToken) } : {}),
    },
    quirks.talksTooMuch ? tellTales : {},
  );
}

/** Signs an access token for a grant, as the switches say. */
export async function createAccessToken(state: IdpState, grant: Grant): Promise<string> {
  const { quirks } = state;
  const opaque =
    quirks.accessTokenFormat === 'opaque' ||
    (quirks.accessTokenFormat === 'opaque-without-resource' &&
      grant.resource === undefined &&
      grant.audience === undefined);
  if (opaque) return `opaque-${randomBytes(24).toString('hex')}`;
  const now = readClock(state);
  const scopes = grant.scope.split(' ').filter((scope) => scope !== '');
  const scopeClaim = {
    string: { scope: grant.scope },
    array: { scope: scopes },
    'scp-string': { scp: grant.scope },
    'scp-array': { scp: scopes },
    none: {},
  }[quirks.scopeClaim];
  const claims = {
    iss: quirks.tokenIssuer ?? state.issuer,
    ...(quirks.omitsSubject ? {} : { sub: formatSubject(state, grant.user) }),
    ...chooseAudience(state, grant),
    iat: now,
    exp: now + quirks.accessTokenSeconds,
    jti: randomUUID(),
    client_id: grant.clientId,
    groups: describePerson(state, grant.user)['groups'],
    ...scopeClaim,
    ...quirks.tokenClaims,
  };
  return signClaims(state, claims, 'at+jwt');
}

function chooseAudience({ quirks }: IdpState, grant: Grant): { aud?: string | readonly string[] } {
  if (quirks.takesAudienceParameter && grant.audience !== undefined) return { aud: grant.audience };
  switch (quirks.audience) {
    case 'none':
      return {};
    case 'client-id':
      return { aud: grant.clientId };
    case 'resource':
      return grant.resource === undefined ? {} : { aud: grant.resource };
    default:
      return { aud: quirks.audience };
  }
}

function createIdToken(state: IdpState, grant: Grant, accessToken: string): Promise<string> {
  const { quirks } = state;
  const now = readClock(state);
  const hash = {
    'made-up': { c_hash: 'AAAA' },
    at_hash: { at_hash: hashHalf(accessToken) },
    none: {},
  }[quirks.idTokenHash];
  const claims = {
    iss: state.issuer,
    aud: grant.clientId,
    ...(quirks.idTokenHasAzp ? { azp: grant.clientId } : {}),
    ...selectMembers(state, grant, quirks.idTokenMembers),
    sub: formatSubject(state, grant.user),
    iat: now,
    exp: now + 600,
    ...hash,
    ...(grant.nonce === undefined ? {} : { nonce: grant.nonce }),
    ...quirks.idTokenChanges,
  };
  return signClaims(state, claims, 'JWT');
}

/** OpenID Connect Core 3.1.3.6, for algorithms with SHA-256. */
function hashHalf(token: string): string {
  return createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');
}

/** Signs claims with the key in use. */
export function signClaims(state: IdpState, claims: Record<string, unknown>, typ: string): Promise<string> {
  const key = state.keys[0]!;
  const header = { alg: key.alg, typ, ...(state.quirks.keysWithoutKid ? {} : { kid: key.kid }) };
  return new SignJWT(claims).setProtectedHeader(header).sign(key.privateKey);
}
