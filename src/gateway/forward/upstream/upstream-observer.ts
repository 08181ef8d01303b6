// Reports events between the gateway and its endpoints to metrics and the log.

/** Told by the pools and the forwarder; every call is cheap and none throws. */
export interface UpstreamObserver {
  connectFailed(backend: string, endpoint: string, error: Error): void;
  /** The endpoint gets no requests by choice for a while. `again`: it was ejected already. */
  ejected(backend: string, endpoint: string, milliseconds: number, again: boolean): void;
  /** An ejected endpoint took a connection again, or left the configuration. */
  returned(backend: string, endpoint: string): void;
  /** A request is sent to another endpoint, because it never reached the one before. */
  retried(backend: string): void;
}

/** Ignores all events. */
export const silentUpstreamObserver: UpstreamObserver = {
  connectFailed: () => {},
  ejected: () => {},
  returned: () => {},
  retried: () => {},
};
