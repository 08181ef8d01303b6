// Finds the bearer token of a request (RFC 6750 2.1). Only the Authorization header counts: tokens in URLs end up in logs and histories.
import type { RawHeaders } from '../../listen/exchange.ts';

/** What a request brings along. */
export type Credentials =
  /** Nothing, or a scheme that is not Bearer: RFC 6750 3.1 treats both as "no authentication information". */
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** There is a Bearer scheme, but behind it is nothing that could be a token. */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** More than one token, or one in the wrong place: which is meant is not ours to guess. */
  | { readonly kind: 'ambiguous'; readonly detail: string };

const none: Credentials = { kind: 'none' };
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Reads the credentials. `query` as in the request context: with its '?', or empty. */
export function readCredentials(headers: RawHeaders, query: string): Credentials {
  let authorization: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (authorization !== undefined) return { kind: 'ambiguous', detail: 'several Authorization headers' };
    authorization = headers[i + 1]!;
  }
  // Cheap first: nearly no query has it.
  if (query.length > 1 && /access|%/i.test(query) && new URLSearchParams(query).has('access_token'))
    return { kind: 'ambiguous', detail: 'an access token in the query' };
  if (authorization === undefined) return none;

  const text = authorization.trim();
  const match = bearer.exec(text);
  if (match !== null) return { kind: 'bearer', token: match[1]! };
  if (!/^Bearer(?:[\s,]|$)/i.test(text)) return none;
  // Two fields that something on the way joined with a comma are two fields.
  if (/[,\s]/.test(text.slice('Bearer'.length).trim()))
    return { kind: 'ambiguous', detail: 'several values in the Authorization header' };
  return { kind: 'malformed', detail: 'the Authorization header has no token in the form of RFC 6750' };
}
