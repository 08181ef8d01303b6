// Finds the bearer token of a request (RFC 6750 2.1). Only the Authorization header counts: tokens in URLs end up in logs and histories.
import type { RawHeaders } from '../http/exchange.ts';
import {
  bearerHeader,
  checkTokenText,
  findToken,
  hasQueryToken,
  type NoToken,
  type UnusableToken,
} from './token/find-token.ts';

/** What a request brings along. */
export type Credentials =
  /** Nothing, or a scheme that is not Bearer: RFC 6750 3.1 treats both as "no authentication information". */
  | NoToken
  | { readonly kind: 'bearer'; readonly token: string }
  /** No token behind the scheme, more than one, or one in the wrong place. */
  | UnusableToken;

/** What stands where a token should be; `query` with its '?', or empty. Whether it could be one, `checkCredentials` says; of a text that was judged before nobody needs to ask. */
export function findCredentials(headers: RawHeaders, query: string): Credentials {
  const found = findToken(headers, query, bearerHeader);
  if (found.kind === 'ambiguous') return found;
  if (hasQueryToken(query)) return { kind: 'ambiguous', detail: 'an access token in the query' };
  return found.kind === 'text' ? { kind: 'bearer', token: found.text } : found;
}

/** The same, and unusable when that could not be a token. */
export function checkCredentials(found: Credentials): Credentials {
  return found.kind === 'bearer' ? (checkTokenText(found.token, bearerHeader) ?? found) : found;
}
