// Judges access tokens: form, issuer, signature, claims. The one engine behind MCP authentication and JWT authentication (RFC 8725, RFC 9068).
import { TurnBudget } from '../../../base/turn-budget.ts';
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkKind,
  checkRequiredClaims,
  checkScopes,
  checkStart,
  readAudiences,
  readScopes,
  type RequiredClaim,
} from './check-claims.ts';
import type { CompactToken } from './compact-token.ts';
import type { KeySet } from './key-set.ts';
import type { KeySource, KeyState } from './key-source.ts';
import { maxTokenLength, readCompactToken } from './read-compact-token.ts';
import { refuseToken, showValue } from './refusal.ts';
import { RefusedTokenCache } from './refused-token-cache.ts';
import { selectKey } from './select-key.ts';
import { type CachedToken, VerifiedTokenCache } from './verified-token-cache.ts';
import type { AcceptedAudiences, TokenRefusal, TokenValidator, TokenVerdict } from './verified-token.ts';
import { verifySignature } from './verify-signature.ts';

export interface ValidatorOptions {
  /** The `iss` of tokens, exactly. */
  readonly issuer: string;
  /** In place of comparing with `issuer`, for issuers that spell themselves in several ways. */
  readonly acceptsIssuer?: (found: string) => boolean;
  /** Where `typ` has to be a certain one. */
  readonly acceptsType?: (type: string | undefined) => boolean;
  readonly keySource: KeySource;
  readonly clockSkewMs: number;
  readonly requiredClaims?: readonly RequiredClaim[];
  /** Checked here when given; callers whose requirements vary use checkScopes on the verified token. */
  readonly requiredScopes?: readonly string[];
  /** Verified tokens that are remembered. Default 10,000. */
  readonly cacheSize?: number;
  readonly now?: () => number;
}

/** Limits signature verifications per turn of the event loop: forged tokens are never in the cache. */
const verifications = new TurnBudget(4);

/** A well-formed token of the right issuer that is to be verified. */
interface Candidate {
  readonly text: string;
  readonly token: CompactToken;
  readonly issuer: string;
  readonly expiresAtMs: number;
}

type Judgement =
  | { readonly ok: true; readonly cached: CachedToken }
  /** `mightBeStale`: other keys could lead to another verdict. */
  | { readonly ok: false; readonly refusal: TokenRefusal; readonly mightBeStale: boolean };

/** Creates the validator of one issuer under one policy. Each policy has its own validator, so its caches end with it. */
export function createTokenValidator(options: ValidatorOptions): TokenValidator {
  const { issuer, keySource, clockSkewMs, requiredClaims = [], requiredScopes = [], now = Date.now } = options;
  const acceptsIssuer = options.acceptsIssuer ?? ((found: string): boolean => found === issuer);
  const cache = new VerifiedTokenCache({ maxEntries: options.cacheSize ?? 10_000 });
  const refused = new RefusedTokenCache();

  function recall(text: string, audiences: AcceptedAudiences): TokenVerdict | Promise<TokenVerdict> | undefined {
    const state = keySource.getKeys();
    if (!state.ok) return undefined;
    const nowMs = now();
    const cached = cache.get(text, state.version, nowMs);
    if (cached !== undefined) return finish(cached, audiences);
    const refusal = refused.get(text, state.version, nowMs);
    if (refusal === undefined) return undefined;
    const fetching = keySource.refetch();
    if (fetching === undefined) return refusal;
    const candidate = readCandidate(text, undefined);
    return candidate.ok ? judgeWithNewerKeys(fetching, candidate, audiences, refusal) : candidate;
  }

  function validate(
    text: string,
    audiences: AcceptedAudiences,
    read?: CompactToken,
  ): TokenVerdict | Promise<TokenVerdict> {
    if (text.length > maxTokenLength) {
      return refuseToken('token_too_large', `The token is longer than ${maxTokenLength} characters.`);
    }
    const known = recall(text, audiences);
    if (known !== undefined) return known;
    const candidate = readCandidate(text, read);
    if (!candidate.ok) return candidate;
    const mustWait = keySource.getKeys().ok && !verifications.take();
    return mustWait ? verifyLater(candidate, audiences) : verify(candidate, audiences);
  }

  function verifyLater(candidate: Candidate, audiences: AcceptedAudiences): Promise<TokenVerdict> {
    return new Promise<void>((resolve) => verifications.wait(resolve)).then(
      // Meanwhile another request may have verified the same token.
      () => recall(candidate.text, audiences) ?? verify(candidate, audiences),
    );
  }

  function verify(candidate: Candidate, audiences: AcceptedAudiences): TokenVerdict | Promise<TokenVerdict> {
    const state = keySource.getKeys();
    if (!state.ok) {
      const loading = keySource.load();
      return loading === undefined ? refuseWithoutKeys(state) : loading.then(() => judgeLater(candidate, audiences));
    }
    const judgement = judge(candidate, state);
    if (judgement.ok) return finish(judgement.cached, audiences);
    const fetching = judgement.mightBeStale ? keySource.refetch() : undefined;
    if (fetching === undefined) return judgement.refusal;
    return judgeWithNewerKeys(fetching, candidate, audiences, judgement.refusal);
  }

  /** Checks that need no key, so that obviously invalid tokens cause no fetch. */
  function readCandidate(
    text: string,
    known: CompactToken | undefined,
  ): ({ readonly ok: true } & Candidate) | TokenRefusal {
    const read = known === undefined ? readCompactToken(text) : ({ ok: true, token: known } as const);
    if (!read.ok) return read;
    const { token } = read;
    if (options.acceptsType?.(token.type) === false)
      return refuseToken(
        'token_wrong_type',
        'The token is of another type than an access token (typ).',
        `typ is ${showValue(token.type)}`,
      );
    const found = checkIssuer(token.claims, acceptsIssuer);
    if (!found.ok) return found;
    const expiry = checkExpiry(token.claims, { nowMs: now(), clockSkewMs });
    if (!expiry.ok) return expiry;
    return { ok: true, text, token, issuer: found.issuer, expiresAtMs: expiry.expiresAtMs };
  }

  function judge(candidate: Candidate, { keySet, version }: Extract<KeyState, { readonly ok: true }>): Judgement {
    const { token, text, expiresAtMs } = candidate;
    const known = refused.get(text, version, now());
    if (known !== undefined) return { ok: false, refusal: known, mightBeStale: true };
    const signature = checkSignature(token, keySet);
    if (signature !== undefined) {
      if (signature.refusal.reason === 'token_bad_signature')
        refused.set(text, version, signature.refusal, now(), expiresAtMs + clockSkewMs);
      return signature;
    }
    const refusal =
      checkKind(token.claims) ??
      checkStart(token.claims, { nowMs: now(), clockSkewMs }) ??
      checkRequiredClaims(token.claims, requiredClaims);
    if (refusal !== undefined) return { ok: false, refusal, mightBeStale: false };
    const cached = describeToken(candidate);
    cache.set(text, version, cached);
    return { ok: true, cached };
  }

  /** Checks that depend on the requested resource and are therefore not cached. */
  function finish(cached: CachedToken, audiences: AcceptedAudiences): TokenVerdict {
    const { verdict } = cached;
    if (cached.acceptedFor === audiences) return verdict;
    const refusal = checkAudience(cached.audiences, audiences) ?? checkScopes(verdict.token, requiredScopes);
    if (refusal === undefined) cached.acceptedFor = audiences;
    return refusal ?? verdict;
  }

  function judgeLater(candidate: Candidate, audiences: AcceptedAudiences): TokenVerdict {
    const state = keySource.getKeys();
    if (!state.ok) return refuseWithoutKeys(state);
    const judgement = judge(candidate, state);
    return judgement.ok ? finish(judgement.cached, audiences) : judgement.refusal;
  }

  /** The issuer may have new keys. A fetch that was already pending may be older than the token: then fetches once more. */
  async function judgeWithNewerKeys(
    fetching: Promise<void>,
    candidate: Candidate,
    audiences: AcceptedAudiences,
    refusal: TokenRefusal,
  ): Promise<TokenVerdict> {
    let newest = refusal;
    let underWay: Promise<void> | undefined = fetching;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      if (attempt > 0) underWay = keySource.refetch();
      if (underWay === undefined) break;
      await underWay;
      const state = keySource.getKeys();
      if (!state.ok) return refuseWithoutKeys(state);
      const judgement = judge(candidate, state);
      if (judgement.ok) return finish(judgement.cached, audiences);
      newest = judgement.refusal;
      if (!judgement.mightBeStale) break;
    }
    return newest;
  }

  return { validate, recall };
}

/** Whether one of the keys made the signature; undefined when it did. */
export function checkSignature(
  token: CompactToken,
  keySet: KeySet,
): Extract<Judgement, { readonly ok: false }> | undefined {
  const selection = selectKey(token, keySet);
  const found = `kid is ${showValue(token.keyId)}, alg is ${token.algorithm}`;
  switch (selection.kind) {
    case 'found':
      if (selection.keys.some((key) => verifySignature(token, key))) return undefined;
      return {
        ok: false,
        refusal: refuseToken('token_bad_signature', 'The signature of the token is wrong.', found),
        // Some issuers rotate keys under the same kid, or use no kid.
        mightBeStale: true,
      };
    case 'wrong_algorithm':
      return {
        ok: false,
        refusal: refuseToken(
          'token_unsupported_algorithm',
          'The key of the token is not for the algorithm that it is signed with.',
          found,
        ),
        mightBeStale: false,
      };
    case 'ambiguous':
      return {
        ok: false,
        refusal: refuseToken(
          'token_unknown_key',
          'The token names no key that the issuer publishes, and several could be meant.',
          found,
        ),
        mightBeStale: true,
      };
    case 'unknown':
      return {
        ok: false,
        refusal: refuseToken(
          'token_unknown_key',
          'The token is signed with a key that the issuer does not publish.',
          found,
        ),
        mightBeStale: true,
      };
  }
}

function describeToken({ token, issuer, expiresAtMs }: Candidate): CachedToken {
  const claims = freezeDeeply(token.claims);
  const { sub } = claims;
  return {
    verdict: {
      ok: true,
      token: {
        issuer,
        subject: typeof sub === 'string' && sub !== '' ? sub : undefined,
        claims,
        scopes: readScopes(claims),
        expiresAtMs,
        caller: undefined,
      },
    },
    audiences: readAudiences(claims),
    acceptedFor: undefined,
  };
}

/** Requests share cached tokens, so they must be immutable. */
function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) freezeDeeply(member);
  return Object.freeze(value);
}

function refuseWithoutKeys(state: Extract<KeyState, { readonly ok: false }>): TokenRefusal {
  return {
    ok: false,
    reason: 'keys_unavailable',
    detail: 'The keys of the identity provider could not be fetched yet.',
    operatorDetail: state.detail,
    retryAfterSeconds: state.retryAfterSeconds,
  };
}
