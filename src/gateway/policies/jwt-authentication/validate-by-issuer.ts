// The provider of a token, and its verdict. The issuer in the token chooses who judges; from there on that provider alone has a say.
import { readCompactToken } from '../../token/read-compact-token.ts';
import { refuseToken, showValue } from '../../token/refusal.ts';
import type { TokenVerdict } from '../../token/verified-token.ts';
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';

/**
 * Judges a token. It is taken apart once: what it says about its issuer is not to be believed, but it can only choose who checks it.
 * The keys of another provider, also under the same `kid`, are never tried.
 */
export function validateByIssuer(
  { providers }: Pick<JwtAuthenticationConfig, 'providers'>,
  text: string,
): TokenVerdict | Promise<TokenVerdict> {
  const read = readCompactToken(text);
  if (!read.ok) return read;
  const { iss } = read.token.claims;
  const provider = typeof iss === 'string' ? providers.get(iss) : undefined;
  if (provider === undefined) {
    const detail =
      iss === undefined ? 'The token names no issuer.' : 'The token comes from an issuer that is not accepted here.';
    return refuseToken('token_wrong_issuer', detail, `iss is ${showValue(iss)}`);
  }
  return provider.validator.validate(text, provider.audiences, read.token);
}
