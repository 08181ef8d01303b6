// Limits for clients of one gateway process. Every limit is a flag of `run` and an environment variable.

/** The limits, over all ports of the process. */
export interface ListenLimits {
  /** Bytes of one request head, including the request line. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  /** Time for a complete request head, from the first byte (or the accepted connection). */
  readonly headerTimeoutMs: number;
  /** Silence on a connection without a request in progress. */
  readonly idleTimeoutMs: number;
  /** Open client connections over all ports. */
  readonly maxConnections: number;
  /** HTTP/2 streams at once on one connection. */
  readonly maxConcurrentStreams: number;
}

/** The defaults of the flags. */
export const defaultListenLimits: ListenLimits = {
  maxHeaderBytes: 65_536,
  maxHeaderCount: 128,
  headerTimeoutMs: 10_000,
  idleTimeoutMs: 120_000,
  maxConnections: 20_000,
  maxConcurrentStreams: 128,
};
