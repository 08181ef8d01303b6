// The limit of requests to the token and revocation endpoints, per address.
import { createLimiters } from '../clients/address-limiter.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import type { TokenError } from './token-answer.ts';

/** Token requests per allowed registration: a registered client requests tokens repeatedly. Default for registrations per address: 60 a minute. */
const tokensPerRegistration = 10;
/** One per connection to an IdP, in each process. */
const findLimiter = createLimiters();

/** Takes a turn from the limit; undefined: it was there. */
export function takeTokenTurn({ context, resource: { config }, now }: OAuthRequest): TokenError | undefined {
  // Messages have one, or compile-mcp-authentication.ts refuses them.
  const perMinute = config.message.registration!.perMinute * tokensPerRegistration;
  const { address } = context.client;
  const waitSeconds = findLimiter(config.idp).take(address, perMinute, now());
  if (waitSeconds <= 0) return undefined;
  return {
    error: 'temporarily_unavailable',
    description: 'Too many requests. Try again later.',
    reason: 'token_limited',
    status: 429,
    detail: `more than ${perMinute} token requests a minute from ${address}`,
    headers: ['retry-after', String(waitSeconds)],
  };
}
