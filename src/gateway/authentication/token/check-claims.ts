// Checks the claims of a token (RFC 7519 section 4, RFC 9068 section 4, RFC 8725).
import type { JsonObject } from '../../../base/json-object.ts';
import { readClaim } from './read-claim.ts';
import { refuseToken, showValue } from './refusal.ts';
import type { AcceptedAudiences, TokenRefusal, VerifiedToken } from './verified-token.ts';

/** A claim that must equal one of the values, or contain one when it is a list. */
export interface RequiredClaim {
  /** As readClaim understands it. */
  readonly name: string;
  /** Strings, numbers, booleans: already parsed from JSON. */
  readonly values: readonly unknown[];
}

interface TimeRules {
  readonly nowMs: number;
  readonly clockSkewMs: number;
}

/** Whether this is a token of the issuer at all. */
export function checkIssuer(
  claims: JsonObject,
  acceptsIssuer: (issuer: string) => boolean,
): { readonly ok: true; readonly issuer: string } | TokenRefusal {
  const { iss } = claims;
  if (typeof iss === 'string' && acceptsIssuer(iss)) return { ok: true, issuer: iss };
  return refuseToken(
    'token_wrong_issuer',
    iss === undefined ? 'The token names no issuer.' : 'The token comes from another issuer.',
    `iss is ${showValue(iss)}`,
  );
}

/** `exp`: when the token ends, in milliseconds. */
export function checkExpiry(
  claims: JsonObject,
  { nowMs, clockSkewMs }: TimeRules,
): { readonly ok: true; readonly expiresAtMs: number } | TokenRefusal {
  const { exp } = claims;
  if (exp === undefined) return refuseToken('token_missing_claim', 'The token has no expiry (exp).');
  if (!isTime(exp)) return refuseToken('token_malformed', 'The expiry (exp) of the token is not a time.');
  const expiresAtMs = exp * 1_000;
  if (nowMs < expiresAtMs + clockSkewMs) return { ok: true, expiresAtMs };
  return refuseToken(
    'token_expired',
    'The token has expired.',
    `it expired ${Math.round((nowMs - expiresAtMs) / 1_000)} s ago`,
  );
}

/** `nbf` and `iat`: not from the future. */
export function checkStart(claims: JsonObject, { nowMs, clockSkewMs }: TimeRules): TokenRefusal | undefined {
  const texts = { nbf: 'The token is not valid yet (nbf).', iat: 'The token was issued in the future (iat).' } as const;
  for (const name of ['nbf', 'iat'] as const) {
    const value = claims[name];
    if (value === undefined) continue;
    if (!isTime(value)) return refuseToken('token_malformed', `The claim ${name} of the token is not a time.`);
    const aheadMs = value * 1_000 - nowMs;
    if (aheadMs > clockSkewMs) {
      return refuseToken(
        'token_not_yet_valid',
        texts[name],
        `${name} is ${Math.ceil(aheadMs / 1_000)} s ahead; do the clocks agree?`,
      );
    }
  }
  return undefined;
}

/** `aud` as a list. A string is one audience, spaces and all. */
export function readAudiences(claims: JsonObject): readonly string[] {
  const { aud } = claims;
  if (typeof aud === 'string') return aud === '' ? [] : [aud];
  if (!Array.isArray(aud)) return [];
  return aud.filter((entry): entry is string => typeof entry === 'string' && entry !== '');
}

/** Whether the token is for one of the audiences. */
export function checkAudience(found: readonly string[], accepted: AcceptedAudiences): TokenRefusal | undefined {
  if (accepted === 'any') return undefined;
  for (const audience of found) if (accepted.includes(audience)) return undefined;
  return refuseToken(
    'token_wrong_audience',
    found.length === 0 ? 'The token names no audience.' : 'The token was issued for another audience.',
    `aud is ${found.length === 0 ? 'absent or empty' : showValue(found)}; accepted: ${showValue(accepted)}`,
  );
}

/** Detects ID tokens by reliable marks only: `at_hash`, `nonce` or a missing scope occur in real access tokens as well. */
export function checkKind(claims: JsonObject): TokenRefusal | undefined {
  const mark = claims.typ === 'ID' ? 'typ' : Object.hasOwn(claims, 'c_hash') ? 'c_hash' : undefined;
  if (mark === undefined) return undefined;
  return refuseToken(
    'token_is_id_token',
    'This is an ID token; send the access token.',
    `the claim ${mark} marks it as an ID token`,
  );
}

/** Checks the claims that the policy requires. */
export function checkRequiredClaims(claims: JsonObject, required: readonly RequiredClaim[]): TokenRefusal | undefined {
  for (const { name, values } of required) {
    const found = readClaim(claims, name);
    const list: readonly unknown[] = Array.isArray(found) ? found : [found];
    if (found !== undefined && list.some((entry) => values.includes(entry))) continue;
    return refuseToken(
      'token_missing_claim',
      found === undefined
        ? 'The token lacks a claim that is required here.'
        : 'A claim of the token does not have a value that is required here.',
      `the claim ${showValue(name)} is ${showValue(found)}; required: ${showValue(values)}`,
    );
  }
  return undefined;
}

/** From `scope` and `scp`, each a string with spaces (RFC 8693 4.2) or an array. Undefined when the token has neither. */
export function readScopes(claims: JsonObject): ReadonlySet<string> | undefined {
  let scopes: Set<string> | undefined;
  for (const name of ['scope', 'scp'] as const) {
    const value = claims[name];
    const list = typeof value === 'string' ? value.split(' ') : value;
    if (!Array.isArray(list)) continue;
    scopes ??= new Set();
    for (const scope of list) if (typeof scope === 'string' && scope !== '') scopes.add(scope);
  }
  return scopes;
}

/** Whether the token has all of the scopes. A token without any scope claim gets its own reason: requesting more scopes would not help. */
export function checkScopes(
  token: Pick<VerifiedToken, 'scopes'>,
  required: readonly string[],
): TokenRefusal | undefined {
  if (required.length === 0) return undefined;
  const { scopes } = token;
  if (scopes === undefined) {
    return refuseToken(
      'token_without_scopes',
      'The token carries no scopes, but some are required here.',
      `neither scope nor scp; required: ${showValue(required)}`,
    );
  }
  const missing = required.filter((scope) => !scopes.has(scope));
  if (missing.length === 0) return undefined;
  return refuseToken(
    'insufficient_scope',
    'The token lacks a scope that is required here.',
    `missing: ${showValue(missing)}; it has ${showValue([...scopes])}`,
  );
}

/** The last second that a Date can represent; a larger value is not a valid time. */
const lastSecond = 8_640_000_000_000;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= lastSecond;
}
