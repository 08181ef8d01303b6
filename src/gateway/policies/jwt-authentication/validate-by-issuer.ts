// The provider of a token, and its verdict. The issuer in the token chooses who judges; from there on that provider alone has a say.
import type { CompactToken } from '../../token/compact-token.ts';
import { refuseToken, showValue } from '../../token/refusal.ts';
import type { TokenVerdict } from '../../token/verified-token.ts';
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';

type Issuers = Pick<JwtAuthenticationConfig, 'providers' | 'knownIssuers' | 'refusedIssuers'>;

/** Judges a token that was here before, without taking it apart. Undefined: it was not, or that is forgotten. */
export function validateKnown(config: Issuers, text: string): TokenVerdict | Promise<TokenVerdict> | undefined {
  const { providers, knownIssuers, refusedIssuers } = config;
  let issuer = knownIssuers.get(text);
  const isRefused = issuer === undefined && refusedIssuers.size > 0;
  if (isRefused) issuer = refusedIssuers.get(text);
  const provider = issuer === undefined ? undefined : providers.get(issuer);
  if (provider === undefined) return undefined;
  const verdict = provider.validator.validate(text, provider.audiences);
  return isRefused ? remember(config, text, issuer!, verdict) : verdict;
}

/**
 * Judges a token that was taken apart. What it says about its issuer is not to be believed, but it can only choose who checks it.
 * The keys of another provider, also under the same `kid`, are never tried.
 */
export function validateByIssuer(
  config: Issuers,
  text: string,
  token: CompactToken,
): TokenVerdict | Promise<TokenVerdict> {
  const { iss } = token.claims;
  const provider = typeof iss === 'string' ? config.providers.get(iss) : undefined;
  if (provider === undefined) {
    const detail =
      iss === undefined ? 'The token names no issuer.' : 'The token comes from an issuer that is not accepted here.';
    return refuseToken('token_wrong_issuer', detail, `iss is ${showValue(iss)}`);
  }
  return remember(config, text, iss as string, provider.validator.validate(text, provider.audiences, token));
}

/** Good tokens, and those that cost the most to refuse, each in a place of its own: nobody can drive out good ones with bad ones. */
function remember(
  config: Issuers,
  text: string,
  issuer: string,
  verdict: TokenVerdict | Promise<TokenVerdict>,
): TokenVerdict | Promise<TokenVerdict> {
  if (verdict instanceof Promise) {
    return verdict.then((late) => {
      note(config, text, issuer, late);
      return late;
    });
  }
  note(config, text, issuer, verdict);
  return verdict;
}

function note({ knownIssuers, refusedIssuers }: Issuers, text: string, issuer: string, verdict: TokenVerdict): void {
  if (verdict.ok) {
    knownIssuers.set(text, issuer);
    refusedIssuers.delete(text);
  } else if (verdict.reason === 'token_bad_signature' && refusedIssuers.get(text) === undefined)
    refusedIssuers.set(text, issuer);
}
