// Limits of one gateway process towards upstream servers. Per endpoint unless a line says otherwise; each is configurable.

export interface UpstreamLimits {
  /** Requests in flight to one endpoint at once. With HTTP/1 each of them, an open SSE stream or WebSocket included, is one connection. */
  readonly maxConcurrentRequests: number;
  /** Requests that may wait for one of those places. Past it: 503 upstream_overloaded. */
  readonly maxWaitingRequests: number;
  /** How often one request may be tried again at another endpoint because it never reached the one before. */
  readonly maxRetries: number;
  /** How long an idle connection is kept when the upstream did not say (Keep-Alive: timeout). Less than the 5 s of Node and other servers, so that they do not close it first. */
  readonly keepAliveTimeoutMs: number;
  /** The upstream's own Keep-Alive timeout is believed up to this. */
  readonly keepAliveMaxTimeoutMs: number;
  /** Bytes of one response head. Past it: 502 upstream_protocol_error. */
  readonly maxResponseHeaderBytes: number;
  /** HTTP/2 upstreams: streams on one connection, when the upstream does not allow fewer. */
  readonly maxStreamsPerConnection: number;
  /** Connect failures in a row after which an endpoint is ejected. 0: never. */
  readonly ejectAfterFailures: number;
  /** How long it is ejected the first time; doubled each further time. */
  readonly ejectionTimeMs: number;
  readonly ejectionTimeMaxMs: number;
  /** Bytes of one request body that may be waiting for one mirror. Past it the mirror copy is given up; the request itself never waits for it. */
  readonly mirrorBufferBytes: number;
  /** How long a mirror may take for its answer once it has the request. */
  readonly mirrorTimeoutMs: number;
}

/** The defaults, as documented. */
export const defaultUpstreamLimits: UpstreamLimits = {
  maxConcurrentRequests: 16_384,
  maxWaitingRequests: 1_024,
  maxRetries: 2,
  keepAliveTimeoutMs: 4_000,
  keepAliveMaxTimeoutMs: 600_000,
  maxResponseHeaderBytes: 65_536,
  maxStreamsPerConnection: 100,
  ejectAfterFailures: 3,
  ejectionTimeMs: 1_000,
  ejectionTimeMaxMs: 60_000,
  mirrorBufferBytes: 1_048_576,
  mirrorTimeoutMs: 30_000,
};
