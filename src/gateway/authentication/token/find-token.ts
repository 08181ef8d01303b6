// Finds the token of a request at the policy's location (RFC 6750 2, RFC 6265): one token, none, or a refusal when it is ambiguous.
import { listCookieValues } from './token-cookie.ts';
import { listParameterValues } from './token-parameter.ts';

/** Where tokens are. */
export type TokenLocation =
  | {
      readonly kind: 'header';
      /** Lower case. */
      readonly name: string;
      /** In front of the token; may be empty. */
      readonly prefix: string;
    }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'queryParameter'; readonly name: string };

/** What is there. */
export type FoundToken =
  /** Nothing, or something without the prefix: RFC 6750 3.1 treats another scheme as "no authentication information". */
  | NoToken
  /** The text at the token's location. `checkTokenText` decides whether it can be a token. */
  | { readonly kind: 'text'; readonly text: string }
  | UnusableToken;

/** `detail`: something else is there; for the operator, never with the value itself. */
interface NoToken {
  readonly kind: 'none';
  readonly detail?: string;
}

export type UnusableToken =
  /** The location has a value that cannot be a token. `detail` is a sentence for clients. */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** More than one token: the gateway does not guess. `detail` is for the operator. */
  | { readonly kind: 'ambiguous'; readonly detail: string };

const none: FoundToken = { kind: 'none' };
const otherScheme: FoundToken = { kind: 'none', detail: 'the Authorization header has another scheme' };
const otherPrefix: FoundToken = { kind: 'none', detail: 'the header of the token has another prefix' };

/** The Authorization header of RFC 6750 2.1. */
export const bearerHeader = {
  kind: 'header',
  name: 'authorization',
  prefix: 'Bearer ',
} as const satisfies TokenLocation;

/** Whether a location is that one. */
export function isBearerHeader(location: TokenLocation): boolean {
  return (
    location.kind === 'header' &&
    location.name === bearerHeader.name &&
    (location.prefix === bearerHeader.prefix || location.prefix.toLowerCase() === 'bearer ')
  );
}

/** For people: "the cookie session". */
export function describeLocation(location: TokenLocation): string {
  switch (location.kind) {
    case 'header':
      return location.name === bearerHeader.name ? 'the Authorization header' : `the header ${location.name}`;
    case 'cookie':
      return `the cookie ${location.name}`;
    case 'queryParameter':
      return `the query parameter ${location.name}`;
  }
}

/** Looks there and nowhere else. `query` as in the request context: with its '?', or empty. */
export function findToken(headers: readonly string[], query: string, location: TokenLocation): FoundToken {
  switch (location.kind) {
    case 'header':
      return findInHeader(headers, location);
    case 'cookie':
      return chooseValue(listCookieValues(headers, location.name), location, 'cookies');
    case 'queryParameter':
      return chooseValue(listParameterValues(query, location.name), location, 'query parameters');
  }
}

function findInHeader(headers: readonly string[], location: TokenLocation & { readonly kind: 'header' }): FoundToken {
  const { name } = location;
  let value: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const found = headers[i]!;
    if (found.length !== name.length || found.toLowerCase() !== name) continue;
    if (value !== undefined)
      return {
        kind: 'ambiguous',
        detail: name === bearerHeader.name ? 'several Authorization headers' : `several headers ${name}`,
      };
    value = headers[i + 1]!;
  }
  if (value === undefined) return none;
  const trimmed = trimSpaces(value);
  const rest = cutPrefix(trimmed, location.prefix);
  if (rest === undefined && trimmed === '') return none;
  if (rest === undefined) return location.name === bearerHeader.name ? otherScheme : otherPrefix;
  return rest === '' ? malform(location) : { kind: 'text', text: rest };
}

/**
 * A scheme ("Bearer ") is compared without regard to case and may have several spaces behind it (RFC 9110 11.1); any other prefix is
 * exact. Undefined when the value has another one.
 */
function cutPrefix(value: string, prefix: string): string | undefined {
  if (value.startsWith(prefix)) return trimSpaces(value.slice(prefix.length));
  if (!isScheme(prefix)) return value === prefix.trimEnd() ? '' : undefined;
  const scheme = prefix.slice(0, -1);
  if (value.slice(0, scheme.length).toLowerCase() !== scheme.toLowerCase()) return undefined;
  const rest = value.slice(scheme.length);
  if (rest.startsWith(' ')) return trimSpaces(rest);
  // A comma: an intermediary joined two fields. No other white space is allowed here.
  if (rest.startsWith(',')) return rest;
  return rest === '' || rest.startsWith('\t') ? '' : undefined;
}

/**
 * Trims the white space of HTTP (RFC 9110 5.6.3): a no-break space, which trim() would remove, is part of a value. No regular expression:
 * matching trailing spaces takes quadratic time in a value full of spaces.
 */
function trimSpaces(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start += 1;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isScheme(prefix: string): boolean {
  return /^[\w!#$%&'*+\-.^`|~]+ $/.test(prefix);
}

function chooseValue(values: readonly string[], location: TokenLocation, several: string): FoundToken {
  const [value] = values;
  if (value === undefined) return none;
  if (values.length > 1) return { kind: 'ambiguous', detail: `several ${several} ${location.name}` };
  return value === '' ? malform(location) : { kind: 'text', text: value };
}

/** Why a text that was found there cannot be a token (b64token of RFC 6750 2.1); undefined when it can. */
export function checkTokenText(text: string, location: TokenLocation): UnusableToken | undefined {
  if (/^[A-Za-z0-9\-._~+/]+=*$/.test(text)) return undefined;
  // A comma: an intermediary joined two fields.
  if (/[,\s]/.test(text)) return { kind: 'ambiguous', detail: `several values in ${describeLocation(location)}` };
  return malform(location);
}

/** Whether the query has an `access_token` (RFC 6750 2.3), in any encoding. */
export function hasQueryToken(query: string): boolean {
  // A cheap check first: almost no query has it.
  return query.length > 1 && /access|%/i.test(query) && listParameterValues(query, 'access_token').length > 0;
}

function malform(location: TokenLocation): UnusableToken {
  const place = describeLocation(location);
  const detail = `${place.charAt(0).toUpperCase()}${place.slice(1)} has no token in the form of RFC 6750.`;
  return { kind: 'malformed', detail };
}
