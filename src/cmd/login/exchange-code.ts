// The token request (RFC 6749 4.1.3) and a look at what came: lengths and claims, never the token itself.
import type { Grant } from './authorize.ts';
import type { FoundServer } from './discover-server.ts';
import type { Narrator } from './narration.ts';
import { type OAuthClient, showRequestId } from './obtain-client.ts';
import { fetchTold, readJsonObject, readString } from './told-fetch.ts';

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
  const asked = await fetchTold(narrator, server.tokenEndpoint, {
    method: 'POST',
    headers,
    body: form.toString(),
    note: `authorization_code with the PKCE verifier, client authentication ${client.method}`,
  });
  if (!asked.ok) {
    narrator.find('bad', `No token: ${asked.problem}.`, asked.advice);
    return undefined;
  }
  const { status, text, headers: answered } = asked.answer;
  const document = readJsonObject(text);
  const accessToken = readString(document, 'access_token');
  if (status !== 200 || accessToken === undefined) {
    const error = readString(document, 'error');
    const said = [error, readString(document, 'error_description')].filter((part) => part !== undefined).join(': ');
    const what =
      status === 200
        ? 'The answer has no access_token'
        : `The token request was refused${said === '' ? '' : `: ${said}`}`;
    narrator.find('bad', `${what}.`, adviseOnError(error, status, document === undefined));
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
  const lifetime = document?.['expires_in'];
  if (typeof lifetime === 'number') narrator.show('expires_in', `${lifetime} s`);
  const scope = readString(document, 'scope');
  if (scope !== undefined) narrator.show('scope', scope);
  const refresh = readString(document, 'refresh_token');
  narrator.show(
    'refresh_token',
    refresh === undefined ? 'none: the user logs in again when the token expires' : `yes, ${refresh.length} characters`,
  );
  if (!/\bno-store\b/.test(answered.get('cache-control') ?? '')) {
    narrator.find('remark', 'The answer lacks Cache-Control: no-store (RFC 6749 5.1).');
  }
  for (const name of shownClaims) {
    const value = claims?.[name];
    if (value !== undefined) narrator.show(name, describeClaim(name, value), { minor: true });
  }
  return { accessToken, claims };
}

/** Claims about audience and scope, and none about the person. */
const shownClaims = ['iss', 'aud', 'azp', 'client_id', 'scope', 'scp', 'iat', 'nbf', 'exp', 'typ'];

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

function adviseOnError(error: string | undefined, status: number, isGarbage: boolean): string {
  switch (error) {
    case 'invalid_grant':
      return 'The code is spent, expired (some live 30 s), or was made for another redirect URI or PKCE challenge. Try again, faster.';
    case 'invalid_client':
    case 'unauthorized_client':
      return 'The client did not prove itself as it is registered. With a secret: --client-secret-file PATH';
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
