// A request to the IdP's token endpoint (RFC 6749 3.2) and its outcome. Only the JSON body of a successful answer is passed on: no
// WWW-Authenticate, no Set-Cookie, no Location.
import { createHmac, randomUUID } from 'node:crypto';
import { readJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import { findChoice } from './chosen-by.ts';
import type { ClientAuthMethod, IdpClient } from '../../../config/shared-logins.ts';
import { hideSecrets } from './hide-secrets.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';

export type IdpTokenOutcome =
  | { readonly kind: 'tokens'; readonly body: JsonObject }
  /** The IdP refused. `error` is its error code; undefined when it sent none that could be read. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly error: string | undefined;
      readonly description: string | undefined;
      /** A redirect, a page, nothing: perhaps the answer of something in front of the IdP. */
      readonly isForeign?: true;
    }
  /** The IdP is unavailable; the grant may still be valid. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterSeconds: number };

const timeoutMs = 10_000;
export const defaultRetrySeconds = 5;

/** On whose behalf is asked. */
interface Asker {
  readonly resource: { readonly config: McpAuthenticationConfig };
  readonly now: () => number;
}

/** Asks for tokens, for a client at the IdP. */
export async function requestIdpTokens(
  request: Asker,
  metadata: IdpMetadata,
  form: Readonly<Record<string, string | undefined>>,
  client: IdpClient,
): Promise<IdpTokenOutcome> {
  const { config } = request.resource;
  const url = metadata.token_endpoint;
  if (url === undefined) return unavailable('the metadata of the IdP has no token_endpoint', defaultRetrySeconds);
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) body.append(name, value);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  };
  authenticate(client, url, request.now(), body, headers);
  const fetched = await config.idp.fetcher.fetch({
    url,
    method: 'POST',
    headers,
    body: body.toString(),
    chosenBy: findChoice(url, config.message),
    ca: config.ca,
    allowInsecureHttp: config.message.allowInsecureHttp,
    timeoutMs,
  });
  if (!fetched.ok) {
    // Some IdPs answer an expired login with their login page.
    if (fetched.code === 'redirect')
      return { kind: 'refused', status: 302, error: undefined, description: undefined, isForeign: true };
    return unavailable(`${fetched.code}: ${fetched.message}`, defaultRetrySeconds);
  }
  const outcome = readAnswer(config.preset, fetched.status, fetched.headers, fetched.body);
  if (outcome.kind !== 'refused') return outcome;
  const secrets = [
    client.secret,
    headers['authorization']?.split(' ', 2)[1],
    body.get('client_assertion') ?? undefined,
  ];
  for (const name of ['code', 'refresh_token', 'code_verifier']) secrets.push(form[name]);
  return {
    ...outcome,
    error: outcome.error === undefined ? undefined : hideSecrets(outcome.error, secrets),
    description: outcome.description === undefined ? undefined : hideSecrets(outcome.description, secrets),
  };
}

/** Authenticates the client by exactly this method (RFC 6749 2.3.1, OpenID Connect Core 9). */
function authenticate(
  { clientId, secret, authMethod }: IdpClient,
  tokenEndpoint: string,
  nowMs: number,
  body: URLSearchParams,
  headers: Record<string, string>,
): void {
  const method: ClientAuthMethod = secret === undefined ? 'none' : authMethod;
  switch (method) {
    case 'client_secret_basic': {
      const pair = `${encodeFormValue(clientId)}:${encodeFormValue(secret!)}`;
      headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
      break;
    }
    case 'client_secret_post':
      body.set('client_id', clientId);
      body.set('client_secret', secret!);
      break;
    case 'client_secret_jwt':
      body.set('client_id', clientId);
      body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      body.set('client_assertion', signAssertion(clientId, secret!, tokenEndpoint, nowMs));
      break;
    case 'none':
      body.set('client_id', clientId);
      break;
  }
}

function encodeFormValue(value: string): string {
  return new URLSearchParams({ v: value }).toString().slice(2);
}

/** RFC 7523 2.2, signed with the secret. */
function signAssertion(clientId: string, secret: string, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + 60,
  };
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

function readAnswer(
  preset: ProviderPreset,
  status: number,
  headers: ReadonlyMap<string, string>,
  text: string,
): IdpTokenOutcome {
  if (isDown(preset, status)) return unavailable(`the token endpoint answered ${status}`, readRetryAfter(headers));
  const read = readJsonObject(text);
  const body: JsonObject = read.ok ? read.value : {};
  const { error, error_description: said } = body;
  const description = typeof said === 'string' ? said : undefined;
  if (status >= 200 && status < 300) {
    if (typeof body['access_token'] === 'string' && body['access_token'] !== '') return { kind: 'tokens', body };
    // A few IdPs answer errors with 200; anything else is not a token answer.
    if (typeof error !== 'string')
      return unavailable(`the token endpoint answered ${status} without an access token`, defaultRetrySeconds);
  }
  if (typeof error !== 'string')
    return { kind: 'refused', status, error: undefined, description, ...(!read.ok && { isForeign: true }) };
  const meaning = findMeaning(preset.tokenErrors, error);
  if (meaning === undefined) return { kind: 'refused', status, error, description };
  // The operator finds the provider's own code in its documentation.
  return { kind: 'refused', status, error: meaning, description: `${error}: ${description ?? 'no description'}` };
}

function findMeaning(errors: Readonly<Record<string, string>> = {}, error: string): string | undefined {
  return Object.hasOwn(errors, error) ? errors[error] : undefined;
}

/** Whether a status of any endpoint of the IdP means that it cannot answer now. */
export function isDown({ downStatuses = [] }: ProviderPreset, status: number): boolean {
  return status >= 500 || status === 429 || status === 408 || downStatuses.includes(status);
}

/** In seconds, within bounds; a few when the answer names none. */
export function readRetryAfter(headers: ReadonlyMap<string, string>): number {
  const value = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(value) ? Math.min(Math.max(Number(value), 1), 3600) : defaultRetrySeconds;
}

function unavailable(detail: string, retryAfterSeconds: number): IdpTokenOutcome {
  return { kind: 'unavailable', detail, retryAfterSeconds };
}
