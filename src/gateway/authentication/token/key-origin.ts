// Where the keys of an issuer come from (RFC 7517), according to the configuration.
import type { KeySource } from '../../../ir/gen/config_pb.ts';

export type KeyOrigin =
  | { readonly kind: 'url'; readonly url: string; readonly allowInsecureHttp: boolean }
  /** A JWK set as JSON. */
  | { readonly kind: 'inline'; readonly document: string }
  /** Endpoints of a Service as http URLs (always allowed), tried in turn. The list changes over time; empty while none is ready. */
  | { readonly kind: 'endpoints'; readonly listUrls: () => readonly string[] };

/** Reads the origin; undefined when the message names none. `listUrls` gives the endpoints of the Service at any time. */
export function readKeyOrigin(
  message: KeySource | undefined,
  listUrls: () => readonly string[],
): KeyOrigin | undefined {
  switch (message?.source.case) {
    case undefined:
      return undefined;
    case 'url':
      return { kind: 'url', url: message.source.value, allowInsecureHttp: message.allowInsecureHttp };
    case 'inline':
      return { kind: 'inline', document: message.source.value };
    case 'backend':
      return { kind: 'endpoints', listUrls };
  }
}

/** The longest time between two fetches. Messages say it, or compile-authentication.ts refuses them. */
export function readCacheDuration(message: KeySource | undefined): number {
  return message?.cacheDurationMs ?? 0;
}

/** The identity of an origin, as plain data. Endpoints are not part of it, because they change. */
export function describeKeyOrigin(message: KeySource | undefined): unknown {
  const { source, allowInsecureHttp } = message ?? {};
  if (source?.case === 'backend') return [source.case, source.value.backend, source.value.path];
  return [source?.case, source?.value, allowInsecureHttp];
}
