// Cross-origin resource sharing (Fetch standard, Gateway API GEP-1767): one implementation for the CORS filter of an HTTPRoute
// and for `traffic.cors` of a ProxyPolicy.
import { readPreflightMethod } from '../http/preflight.ts';
import { findHeader } from '../http/headers.ts';
import { create } from '@bufbuild/protobuf';
import { type Cors, type HeaderModifier, HeaderModifierSchema } from '../../ir/gen/config_pb.ts';
import type { CompiledCors } from '../config/runtime-config.ts';
import type { RawHeaders } from '../http/exchange.ts';

/** What CORS says about one request. */
type CorsDecision =
  /** A preflight: answer it with 204 and these headers. */
  | { readonly kind: 'preflight'; readonly headers: RawHeaders }
  /** A preflight from an origin that is not allowed. */
  | { readonly kind: 'refused'; readonly origin: string }
  /** Any other request: these headers belong on its answer, from the upstream or the gateway. */
  | { readonly kind: 'actual'; readonly headers: RawHeaders };

/** Removes the upstream's own CORS headers, which could contradict those of the gateway. */
export const corsHeaderRemoval: HeaderModifier = create(HeaderModifierSchema, {
  remove: [
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'access-control-allow-methods',
    'access-control-allow-headers',
    'access-control-expose-headers',
    'access-control-max-age',
  ],
});

/** The settings cannot be enforced. */
export class CorsError extends Error {
  readonly code = 'invalid_cors';
}

/** Prepares CORS settings, or throws a CorsError. */
export function compileCors(message: Cors): CompiledCors {
  for (const name of [...message.allowMethods, ...message.allowHeaders, ...message.exposeHeaders]) {
    if (!isToken(name)) throw new CorsError(`${JSON.stringify(name)} is not the name of a method or a header`);
  }
  const allowsAnyOrigin = message.allowOrigins.includes('*');
  return {
    message,
    allowsOrigin: allowsAnyOrigin ? () => true : createOriginMatcher(message.allowOrigins),
    answersAnyOrigin: allowsAnyOrigin && !message.allowCredentials,
    allowMethods: joinNames(message.allowMethods),
    allowHeaders: joinNames(message.allowHeaders),
    // With credentials, browsers take '*' for a header of that name, and the specification forbids sending it.
    exposeHeaders: message.allowCredentials
      ? message.exposeHeaders.filter((name) => name !== '*').join(', ')
      : joinNames(message.exposeHeaders),
  };
}

function joinNames(names: readonly string[]): string {
  return names.includes('*') ? '*' : names.join(', ');
}

function isToken(text: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text);
}

interface Origin {
  readonly scheme: string;
  /** Lower case. In a pattern '*' or '*.' and a suffix is possible. */
  readonly host: string;
  readonly port: string;
}

const wellKnownPorts: Readonly<Record<string, string>> = { http: '80', https: '443' };

function readOrigin(text: string): Origin | undefined {
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+|\*|\*\.[a-z0-9._-]+)(?::(\d{1,5}))?$/.exec(
    text.toLowerCase(),
  );
  if (parts === null) return undefined;
  const scheme = parts[1]!;
  return { scheme, host: parts[2]!, port: parts[3] ?? wellKnownPorts[scheme] ?? '' };
}

function createOriginMatcher(patterns: readonly string[]): (origin: string) => boolean {
  const exact = new Set<string>();
  const wildcards: Origin[] = [];
  for (const pattern of patterns) {
    const origin = readOrigin(pattern);
    if (origin === undefined) {
      throw new CorsError(
        `${JSON.stringify(pattern)} is not an origin; write https://app.example.com, https://*.example.com or *`,
      );
    }
    if (origin.host.startsWith('*')) wildcards.push({ ...origin, host: origin.host.slice(1) });
    else exact.add(`${origin.scheme}://${origin.host}:${origin.port}`);
  }
  return (text) => {
    const origin = readOrigin(text);
    if (origin === undefined || origin.host.startsWith('*')) return false;
    if (exact.has(`${origin.scheme}://${origin.host}:${origin.port}`)) return true;
    // '*' takes any number of labels, but at least one character: '*.example.com' is not example.com.
    return wildcards.some(
      ({ scheme, host, port }) =>
        scheme === origin.scheme &&
        port === origin.port &&
        origin.host.length > host.length &&
        origin.host.endsWith(host),
    );
  };
}

/** Decides about one request of a route that has CORS settings. */
export function decideCors(cors: CompiledCors, method: string, headers: RawHeaders): CorsDecision {
  const vary = cors.answersAnyOrigin ? [] : ['vary', 'Origin'];
  const origin = findHeader(headers, 'origin');
  if (origin === undefined) return { kind: 'actual', headers: vary };
  const requestedMethod = readPreflightMethod(method, headers);
  if (!cors.allowsOrigin(origin)) {
    return requestedMethod === undefined ? { kind: 'actual', headers: vary } : { kind: 'refused', origin };
  }
  const answer = ['access-control-allow-origin', cors.answersAnyOrigin ? '*' : origin, ...vary];
  if (cors.message.allowCredentials) answer.push('access-control-allow-credentials', 'true');
  // Browsers only look for it on actual answers; Gateway API conformance wants it on preflights too.
  if (cors.exposeHeaders !== '') answer.push('access-control-expose-headers', cors.exposeHeaders);
  if (requestedMethod === undefined) return { kind: 'actual', headers: answer };
  // For '*' the requested values are echoed: a literal '*' is forbidden with credentials, and without them it excludes Authorization.
  const allowMethods = cors.allowMethods === '*' ? requestedMethod : cors.allowMethods;
  if (isTokenList(allowMethods)) answer.push('access-control-allow-methods', allowMethods);
  const allowHeaders =
    cors.allowHeaders === '*' ? findHeader(headers, 'access-control-request-headers') : cors.allowHeaders;
  if (allowHeaders !== undefined && isTokenList(allowHeaders))
    answer.push('access-control-allow-headers', allowHeaders);
  answer.push('access-control-max-age', String(cors.message.maxAgeSeconds));
  return { kind: 'preflight', headers: answer };
}

/** Guards headers that echo what the client sent: only names may pass. */
function isTokenList(text: string): boolean {
  return text !== '' && text.split(',').every((name) => isToken(name.trim()));
}
