// Finds the bearer token of a request (RFC 6750 2.1). Only the Authorization header counts: tokens in URLs end up in logs and histories.
import type { RawHeaders } from '../../http/exchange.ts';
import { bearerHeader, findToken, type FoundToken, hasQueryToken } from '../token/find-token.ts';

/** Finds the token. `query` as in the request context: with its '?', or empty. */
export function findBearerToken(headers: RawHeaders, query: string): FoundToken {
  const found = findToken(headers, query, bearerHeader);
  if (found.kind === 'ambiguous') return found;
  return hasQueryToken(query) ? { kind: 'ambiguous', detail: 'an access token in the query' } : found;
}
