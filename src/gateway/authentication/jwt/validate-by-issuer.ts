// The provider of a token, and its verdict. The issuer in the token chooses who judges; from there on that provider alone has a say.
import type { CompactToken } from '../token/compact-token.ts';
import { refuseToken, showValue } from '../token/refusal.ts';
import type { TokenVerdict } from '../token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';

type Issuers = Pick<JwtAuthenticationConfig, 'providers'>;

/**
 * Judges a token that was here before, without taking it apart. Undefined: it was not, or that is forgotten. Whoever remembers it has judged it because it
 * names them: what a text says does not change.
 */
export function validateKnown({ providers }: Issuers, text: string): TokenVerdict | Promise<TokenVerdict> | undefined {
  for (const { validator, audiences } of providers.values()) {
    const verdict = validator.recall?.(text, audiences);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
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
  return provider.validator.validate(text, provider.audiences, token);
}
