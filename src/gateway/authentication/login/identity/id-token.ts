// Validates an ID token (OpenID Connect Core 3.1.3.7): it is the identity provider's, for the gateway's client, and of this login.
import type { JsonObject } from '../../../../base/json-object.ts';
import type { Idp } from '../../../config/idp-connection.ts';
import type { McpAuthenticationConfig } from '../../../config/protected-resource.ts';
import { checkExpiry, checkIssuer, checkStart, readAudiences } from '../../token/check-claims.ts';
import type { CompactToken } from '../../token/compact-token.ts';
import { checkSignature } from '../../token/create-validator.ts';
import { readCompactToken } from '../../token/read-compact-token.ts';
import { showValue } from '../../token/refusal.ts';
import type { TokenRefusal } from '../../token/verified-token.ts';
import { hashAccessToken } from './access-token-hash.ts';
import { deferIdentity, type IdentityFailure, refuseIdentity } from './identity-outcome.ts';

/** An ID token with everything that it is compared with. */
export interface IdTokenCase {
  readonly text: string;
  /** Of the same answer; undefined: there is none. */
  readonly accessToken: string | undefined;
  /** The gateway's own at the identity provider. */
  readonly clientId: string;
  /** What was sent with the login; undefined: nothing to compare with (refresh). */
  readonly nonce: string | undefined;
  readonly nowMs: number;
}

type IdTokenOutcome = { readonly kind: 'claims'; readonly claims: JsonObject } | IdentityFailure;

/** Validates. A rotated key is fetched; while there are no keys at all, nothing is decided. */
export async function validateIdToken(
  config: Pick<McpAuthenticationConfig, 'message' | 'preset' | 'idp'>,
  { text, accessToken, clientId, nonce, nowMs }: IdTokenCase,
): Promise<IdTokenOutcome> {
  const read = readCompactToken(text);
  if (!read.ok) return refuse(read);
  const { token } = read;
  const { claims } = token;
  if (text === accessToken) return refuseIdentity('the ID token is the access token');
  const mark = findOtherKind(token);
  if (mark !== undefined) return refuseIdentity(`the ID token is a token of another kind: ${mark}`);
  const failure = await checkKeys(config.idp, token);
  if (failure !== undefined) return failure;
  const times = { nowMs, clockSkewMs: config.message.clockSkewMs };
  const expiry = checkExpiry(claims, times);
  if (!expiry.ok) return refuse(expiry);
  const refusal = checkTokenIssuer(config, claims) ?? checkStart(claims, times);
  if (refusal !== undefined) return refuse(refusal);
  const problem =
    findClientProblem(claims, clientId) ??
    (claims.iat === undefined ? 'it does not say when it was issued (iat)' : undefined) ??
    (nonce !== undefined && claims.nonce !== nonce ? 'its nonce is not that of this login' : undefined) ??
    findHashProblem(token, accessToken) ??
    (typeof claims.sub === 'string' && claims.sub !== '' ? undefined : 'it names no user (sub)');
  return problem === undefined ? { kind: 'claims', claims } : refuseIdentity(`the ID token is refused: ${problem}`);
}

/** Values of the claim `typ` that Keycloak and others give to tokens that are no ID tokens. */
const otherKinds: ReadonlySet<string> = new Set(['bearer', 'refresh', 'offline', 'logout', 'at+jwt', 'access', 'dpop']);

/** An access token is no ID token, even if it is for this client (RFC 9068 5). */
function findOtherKind({ type, claims }: CompactToken): string | undefined {
  if (type !== undefined && type !== 'jwt') return `typ is ${showValue(type)}`;
  if (typeof claims.typ === 'string' && otherKinds.has(claims.typ.toLowerCase()))
    return `the claim typ is ${showValue(claims.typ)}`;
  return Object.hasOwn(claims, 'events') ? 'it has events' : undefined;
}

/** Asymmetric signatures only: with HMAC everybody who knows the client secret could sign. */
async function checkKeys({ keys }: Idp, token: CompactToken): Promise<IdentityFailure | undefined> {
  if (keys === undefined) return deferIdentity('this process has no keys of the identity provider', 60);
  if (!keys.getKeys().ok) await keys.load();
  // After an outage the next attempt may be a minute away; this login cannot wait for it, as its code is used up.
  if (!keys.getKeys().ok) await keys.refetch();
  let state = keys.getKeys();
  if (!state.ok) return deferIdentity(`no keys for ID tokens: ${state.detail}`, state.retryAfterSeconds);
  let wrong = checkSignature(token, state.keySet);
  // A fetch that was already pending may be older than the token: then once more.
  for (let attempt = 0; attempt < 2 && wrong?.mightBeStale === true; attempt += 1) {
    const fetching = keys.refetch();
    if (fetching === undefined) break;
    await fetching;
    state = keys.getKeys();
    if (!state.ok) return deferIdentity(`no keys for ID tokens: ${state.detail}`, state.retryAfterSeconds);
    wrong = checkSignature(token, state.keySet);
  }
  return wrong === undefined ? undefined : refuse(wrong.refusal);
}

function checkTokenIssuer(
  { message, preset }: Pick<McpAuthenticationConfig, 'message' | 'preset'>,
  claims: JsonObject,
): TokenRefusal | undefined {
  const { acceptsIssuer, identity } = preset;
  const accepts = (found: string): boolean =>
    found === message.issuer ||
    (identity?.acceptsIdTokenIssuer?.(message.issuer, claims) ?? acceptsIssuer?.(message.issuer, found) ?? false);
  const checked = checkIssuer(claims, accepts);
  return checked.ok ? undefined : checked;
}

/** `aud` and `azp`. */
function findClientProblem(claims: JsonObject, clientId: string): string | undefined {
  const audiences = readAudiences(claims);
  const { azp } = claims;
  if (!audiences.includes(clientId)) return `it is for another client: aud is ${showValue(claims.aud)}`;
  if (azp === undefined && audiences.length > 1)
    return `it is for several audiences and does not say which client it was issued to (azp): aud is ${showValue(claims.aud)}`;
  return azp === undefined || azp === clientId
    ? undefined
    : `it was issued to another client: azp is ${showValue(azp)}`;
}

function findHashProblem({ algorithm, claims }: CompactToken, accessToken: string | undefined): string | undefined {
  const { at_hash: found } = claims;
  if (found === undefined || accessToken === undefined) return undefined;
  return found === hashAccessToken(accessToken, algorithm) ? undefined : 'it belongs to another access token (at_hash)';
}

function refuse({ detail, operatorDetail }: TokenRefusal): IdentityFailure {
  const more = operatorDetail === undefined ? '' : ` (${operatorDetail})`;
  return refuseIdentity(`the ID token is refused: ${detail}${more}`);
}
