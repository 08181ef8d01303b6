// The token request (RFC 6749 4.1.3) and a look at what came: lengths and claims, never the token itself.
import type { Grant } from './authorize.ts';
import type { FoundServer } from './discover-server.ts';
import { adviseOnIssuer } from './advise-on-issuer.ts';
import { readWrittenAt } from './clocks.ts';
import type { Narrator } from './narration.ts';
import type { OAuthClient } from './obtain-client.ts';
import { endSentence, joinSaid } from './sentence.ts';
import { fetchTold, readJsonObject, readString, showRequestId } from './told-fetch.ts';

interface ExchangeOptions {
  readonly server: FoundServer;
  readonly client: OAuthClient;
  readonly grant: Grant;
  readonly redirectUri: string;
  readonly resource: string | undefined;
}

export interface FoundToken {
  readonly accessToken: string;
  /** Of a JWT, unverified: for hints only. Undefined: the token is opaque. */
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  /** How far the clock that wrote the token is ahead of this machine's, in milliseconds; undefined: it does not show. */
  readonly clockMs: number | undefined;
  /** Of the client that asked for it. */
  readonly clientId: string;
  /** Never told. */
  readonly refreshToken: string | undefined;
}

/** Step 6. Undefined: it failed. */
export async function exchangeCode(narrator: Narrator, options: ExchangeOptions): Promise<FoundToken | undefined> {
  const { server, client, grant, redirectUri, resource } = options;
  narrator.begin('Token', 'RFC 6749 4.1.3, RFC 7636 4.5');
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: redirectUri,
    code_verifier: grant.verifier,
  });
  if (resource !== undefined) form.set('resource', resource);
  return requestToken(narrator, server, client, form, 'authorization_code with the PKCE verifier');
}

/** The same with the refresh token, which stays the same unless the server replaces it (RFC 6749 6). */
export async function refreshToken(
  narrator: Narrator,
  { server, client, resource }: Omit<ExchangeOptions, 'grant' | 'redirectUri'>,
  token: FoundToken,
): Promise<FoundToken | undefined> {
  narrator.begin('Refresh', 'RFC 6749 6');
  if (token.refreshToken === undefined) {
    narrator.find(
      'bad',
      'There is no refresh token: users log in again when the access token expires.',
      'Some identity providers give one only for the scope offline_access (authorizationRequest.extraScopes of the policy), to clients with a secret, or when the policy allows it (tokens.refreshLifetime).',
    );
    return undefined;
  }
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token.refreshToken });
  if (resource !== undefined) form.set('resource', resource);
  const renewed = await requestToken(narrator, server, client, form, 'refresh_token');
  if (renewed === undefined) return undefined;
  const isKept = renewed.refreshToken === undefined || renewed.refreshToken === token.refreshToken;
  narrator.find('good', isKept ? 'The refresh token stays the same.' : 'The refresh token was replaced.');
  return { ...renewed, refreshToken: renewed.refreshToken ?? token.refreshToken };
}

async function requestToken(
  narrator: Narrator,
  server: FoundServer,
  client: OAuthClient,
  form: URLSearchParams,
  grantNote: string,
): Promise<FoundToken | undefined> {
  const isRefresh = form.get('grant_type') === 'refresh_token';
  const headers = authenticateClient(client, form);
  const asked = await fetchTold(narrator, server.tokenEndpoint, {
    method: 'POST',
    headers,
    body: form.toString(),
    note: `${grantNote}, client authentication ${client.method}`,
  });
  if (!asked.ok) {
    narrator.find('bad', `No token: ${endSentence(asked.problem)}`, asked.advice);
    return undefined;
  }
  const { status, text, headers: answered } = asked.answer;
  const document = readJsonObject(text);
  const accessToken = readString(document, 'access_token');
  if (status !== 200 || accessToken === undefined) {
    const error = readString(document, 'error');
    const description = readString(document, 'error_description');
    const said = joinSaid(error, description);
    const what =
      status === 200
        ? 'The answer has no access_token'
        : `The token request was refused${said === '' ? '' : `: ${said}`}`;
    const isGarbage = document === undefined;
    narrator.find(
      'bad',
      endSentence(what),
      adviseOnError(client, { error, description, status, isGarbage, isRefresh }),
    );
    showRequestId(narrator, document);
    return undefined;
  }
  const type = readString(document, 'token_type');
  if (type?.toLowerCase() !== 'bearer') {
    narrator.find('bad', `token_type is ${type ?? 'missing'}, not Bearer.`, 'MCP clients can use Bearer tokens only.');
    return undefined;
  }
  const claims = readClaims(accessToken);
  narrator.find(
    'good',
    `An access token of ${accessToken.length} characters, ${claims === undefined ? 'opaque' : 'a JWT'}.`,
  );
  const idp = readString(claims, 'idp');
  if (idp !== undefined && claims?.['iss'] === server.issuer)
    narrator.find('good', `The authorization server issued it itself, for a login at ${idp}.`);
  const lifetime = document?.['expires_in'];
  if (typeof lifetime === 'number') narrator.show('expires_in', `${lifetime} s`);
  const scope = readString(document, 'scope');
  if (scope !== undefined) narrator.show('scope', scope === '' ? 'none' : scope);
  const refresh = readString(document, 'refresh_token');
  narrator.show(
    'refresh_token',
    refresh === undefined
      ? isRefresh
        ? 'none in this answer'
        : 'none: the user logs in again when the token expires'
      : `yes, ${refresh.length} characters`,
  );
  if (refresh === undefined && !isRefresh && server.scopesSupported?.includes('offline_access') === true)
    narrator.find(
      'remark',
      'No refresh token, though the metadata lists offline_access: many identity providers give one only for that scope.',
      'authorizationRequest.extraScopes: [offline_access] in the policy of the gateway asks for it in every login; --scope tries it here.',
    );
  if (!/\bno-store\b/.test(answered.get('cache-control') ?? '')) {
    narrator.find('remark', 'The answer lacks Cache-Control: no-store (RFC 6749 5.1).');
  }
  for (const name of shownClaims) {
    const value = claims?.[name];
    if (value !== undefined) narrator.show(name, describeClaim(name, value), { minor: true });
  }
  const writtenAtMs = claims === undefined ? undefined : readWrittenAt(claims, asNumber(lifetime));
  const clockMs = writtenAtMs === undefined ? undefined : writtenAtMs - Date.now();
  return { accessToken, claims, clockMs, clientId: client.id, refreshToken: refresh };
}

/** Headers of a request with a form, to which the client is added where it belongs there (RFC 6749 2.3.1). */
export function authenticateClient(client: OAuthClient, form: URLSearchParams): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (client.method === 'client_secret_basic') {
    const credentials = [client.id, client.secret ?? ''].map(encodeURIComponent).join(':');
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
  } else {
    form.set('client_id', client.id);
    if (client.method === 'client_secret_post') form.set('client_secret', client.secret ?? '');
  }
  return headers;
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Claims about audience and scope, and none about the person. */
const shownClaims = ['iss', 'aud', 'azp', 'client_id', 'scope', 'scp', 'idp', 'iat', 'nbf', 'exp', 'typ'];

function describeClaim(name: string, value: unknown): string {
  if (['iat', 'nbf', 'exp'].includes(name) && typeof value === 'number' && Math.abs(value) < 8.64e12) {
    return new Date(value * 1000).toISOString();
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  return readJsonObject(Buffer.from(parts[1]!, 'base64url').toString('utf8'));
}

interface TokenProblem {
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly status: number;
  readonly isGarbage: boolean;
  readonly isRefresh: boolean;
}

function adviseOnError(
  client: OAuthClient,
  { error, description = '', status, isGarbage, isRefresh }: TokenProblem,
): string {
  const ofIssuer = adviseOnIssuer(description);
  if (ofIssuer !== undefined) return ofIssuer;
  // As this gateway puts it: its own client, at the identity provider behind it.
  if (/gateway's client/.test(description))
    return 'clientId or the secret of clientSecretRef in the policy is not what the identity provider has: mcp-gatehouse check --online asks it. The log and the inspector of the gateway have its answer under the request id.';
  switch (error) {
    case 'invalid_grant':
      if (isRefresh)
        return 'The refresh token is spent, expired or revoked, or the identity provider no longer vouches for the account. Log in again.';
      return 'The code is spent, expired (some live 30 s), or was made for another redirect URI or PKCE challenge. Try again, faster.';
    case 'invalid_client':
    case 'unauthorized_client':
      return client.secret === undefined
        ? 'The client did not prove itself as it is registered. With a secret: --client-secret-file PATH'
        : `The secret is not the one of this client, or it has to be sent otherwise than by ${client.method}.`;
    case 'temporarily_unavailable':
      return 'The authorization server cannot finish the login at the moment: is the identity provider behind it up? Try again.';
    case 'invalid_target':
      return 'The server does not know this `resource` (RFC 8707).';
    case 'unsupported_grant_type':
      return 'The server does not offer the authorization code grant.';
    default:
      if (status >= 300 && status < 400) return 'A token endpoint must not redirect.';
      if (isGarbage) return 'The answer is not JSON: is token_endpoint right, and no login page or firewall before it?';
      return 'The log of the authorization server may say more.';
  }
}
