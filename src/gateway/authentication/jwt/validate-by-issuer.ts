// Finds the provider of a token and returns its verdict. The issuer in the token selects the provider; only that provider decides.
import type { CompactToken } from '../token/compact-token.ts';
import { refuseToken, showValue } from '../token/refusal.ts';
import type { TokenVerdict } from '../token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';

type Issuers = Pick<JwtAuthenticationConfig, 'providers'>;

/**
 * The cached verdict of a token, without parsing it; undefined on a cache miss. A provider has a token in its cache only if the token names it as
 * the issuer.
 */
export function validateKnown({ providers }: Issuers, text: string): TokenVerdict | Promise<TokenVerdict> | undefined {
  for (const { validator, audiences } of providers.values()) {
    const verdict = validator.recall?.(text, audiences);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/**
 * Judges a parsed token. Its issuer is not verified yet, but it only selects the provider that checks it. The keys of another provider,
 * also under the same `kid`, are never tried.
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
