// Judges access tokens of the gateway's own: by its own keys, so nothing is ever fetched. The engine and its caches are those of all tokens.
import type { AccessTokens, SigningKeys } from '../../../config/token-issuer.ts';
import type { RequiredClaim } from '../../token/check-claims.ts';
import { createTokenValidator } from '../../token/create-validator.ts';
import { formatJwks } from '../../token/format-jwks.ts';
import { createInlineKeySource } from '../../token/key-source.ts';
import { readCompactToken } from '../../token/read-compact-token.ts';
import { refuseToken, showValue } from '../../token/refusal.ts';
import type { AcceptedAudiences, TokenRefusal, TokenValidator, TokenVerdict } from '../../token/verified-token.ts';

interface IssuedTokenRules {
  /** namespace/name of the policy, for people. */
  readonly source?: string;
  readonly signingKeys: SigningKeys | undefined;
  /** The issuer of the identity provider that the policy names: tokens from logins elsewhere are refused. */
  readonly idp: string;
  readonly clockSkewMs: number;
  readonly requiredClaims: readonly RequiredClaim[];
  readonly now?: () => number;
}

/** What judges the tokens of one policy. Without signing keys it refuses all of them. */
export function createIssuedTokens(rules: IssuedTokenRules): AccessTokens {
  const { signingKeys, idp, requiredClaims, clockSkewMs, now } = rules;
  if (signingKeys === undefined)
    return {
      validator: { validate: () => withoutKeys },
      hasKeys: false,
      loadKeys: () => Promise.resolve(withoutKeys),
    };
  return {
    hasKeys: true,
    validator: createTokenValidator({
      // Which issuer it has to be depends on the resource that is asked for: see validateIssued.
      issuer: '',
      acceptsIssuer: () => true,
      acceptsType: (type) => type === 'at+jwt',
      keySource: createInlineKeySource(JSON.stringify(formatJwks(signingKeys))),
      clockSkewMs,
      requiredClaims: [{ name: 'idp', values: [idp] }, ...requiredClaims],
      ...(now !== undefined && { now }),
    }),
  };
}

/** No token can be judged, so nothing passes. */
const withoutKeys: TokenRefusal = {
  ok: false,
  reason: 'signing_key_missing',
  detail: 'This gateway has no key to check the token with.',
  operatorDetail: 'no signing keys are configured',
  retryAfterSeconds: 60,
};

/** The cached verdict of a token for a resource with these issuers; undefined on a cache miss. */
export function recallIssued(
  validator: TokenValidator,
  text: string,
  audiences: AcceptedAudiences,
  issuers: readonly string[],
): TokenVerdict | Promise<TokenVerdict> | undefined {
  const verdict = validator.recall?.(text, audiences);
  if (verdict === undefined) return undefined;
  return verdict instanceof Promise
    ? verdict.then((late) => checkIssuer(late, issuers))
    : checkIssuer(verdict, issuers);
}

/** Judges a token for a resource whose authorization server has these names. */
export function validateIssued(
  validator: TokenValidator,
  text: string,
  audiences: AcceptedAudiences,
  issuers: readonly string[],
): TokenVerdict | Promise<TokenVerdict> {
  const read = readCompactToken(text);
  if (!read.ok) return read;
  const { iss } = read.token.claims;
  if (typeof iss !== 'string' || !issuers.includes(iss)) return refuseIssuer(iss, issuers);
  return validator.validate(text, audiences, read.token);
}

function checkIssuer(verdict: TokenVerdict, issuers: readonly string[]): TokenVerdict {
  if (!verdict.ok || issuers.includes(verdict.token.issuer)) return verdict;
  return refuseIssuer(verdict.token.issuer, issuers);
}

function refuseIssuer(found: unknown, issuers: readonly string[]): TokenRefusal {
  return refuseToken(
    'token_wrong_issuer',
    found === undefined ? 'The token names no issuer.' : 'The token comes from another issuer.',
    `iss is ${showValue(found)}; this gateway issues the tokens of this resource, as ${showValue(issuers)}`,
  );
}
