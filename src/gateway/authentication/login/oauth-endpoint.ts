// The common shape of the gateway's own OAuth endpoints: metadata, register, authorize, callback, token. One file each.
import type { RawHeaders } from '../../http/exchange.ts';
import type { Reason } from '../../http/reasons.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ProtectedResource } from '../../config/protected-resource.ts';

/** A request to one of the endpoints. The method was checked; the body, where the endpoint takes one, is complete and within its limit. */
export interface OAuthRequest {
  readonly context: RequestContext;
  readonly resource: ProtectedResource;
  /** Scheme and authority as the client sees them: https://mcp.example.com */
  readonly base: string;
  /** The client used a path derived from the host alone, so its issuer is the base without a path. Default false. */
  readonly isRootForm?: boolean;
  readonly query: URLSearchParams;
  readonly body: string;
  readonly contentType: string;
  readonly cookies: ReadonlyMap<string, string>;
  readonly now: () => number;
}

/** What the endpoint answers. */
export interface OAuthAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
  /** Set when the request was refused: for the log, the metrics and the inspector. */
  readonly reason?: Reason;
  /** For the operator only. */
  readonly detail?: string;
}

export interface OAuthEndpoint {
  /** For the inspector: "register", "protected-resource-metadata"... */
  readonly name: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** 0: takes no body. */
  readonly maxBodyBytes: (resource: ProtectedResource) => number;
  /** Open to scripts of any origin (CORS `*` without credentials). Pages for people (authorize, callback) are not. */
  readonly cors: boolean;
  readonly handle: (request: OAuthRequest) => OAuthAnswer | Promise<OAuthAnswer>;
}

/** For answers with tokens, registrations and their errors (RFC 6749 5.1, RFC 7591 3.2.1). */
export const uncachedJson: RawHeaders = [
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'pragma',
  'no-cache',
];

/** Retry-After, in whole seconds and never 0: clients would retry at once. */
export function formatRetryAfter(seconds: number): RawHeaders {
  return ['retry-after', String(Math.max(1, Math.ceil(seconds)))];
}
