// A server with its endpoints, as the request path uses it: connections, time limits, and what it speaks.

/** Endpoints that do the same, connected to in the same way. */
export interface ServerConfig {
  readonly key: string;
  /** Changes when anything below changes: pools are kept across reloads while it stays the same. */
  readonly fingerprint: string;
  readonly endpoints: readonly { readonly host: string; readonly port: number }[];
  readonly tls: BackendTls | undefined;
  readonly protocol: 'http1' | 'h2c';
  readonly connectTimeoutMs: number;
  /** 0: none. */
  readonly requestTimeoutMs: number;
  /** 0: none. */
  readonly idleTimeoutMs: number;
  /** Empty: the client's own. */
  readonly hostHeader: string;
  /** Set for a ProxyBackend. */
  readonly mcp: McpConfig | undefined;
  /** Set for an InferencePool: the picker that chooses the endpoint of each request. */
  readonly picker: PickerConfig | undefined;
}

/** The endpoint picker of an InferencePool. It speaks HTTP/2, with TLS when that is set. */
export interface PickerConfig {
  /** Changes when anything below changes. */
  readonly fingerprint: string;
  readonly endpoints: ServerConfig['endpoints'];
  readonly tls: BackendTls | undefined;
  readonly connectTimeoutMs: number;
  /** True: any endpoint is used when the picker chooses none. False: the request is refused. */
  readonly failsOpen: boolean;
  /** The longest wait for an answer of the picker. */
  readonly timeoutMs: number;
}

export interface McpConfig {
  readonly target: string;
  readonly path: string;
  readonly transport: 'streamable-http' | 'sse';
  readonly sessionRouting: 'stateful' | 'stateless';
}

export interface BackendTls {
  readonly serverName: string;
  readonly ca: string | undefined;
  readonly insecureSkipVerify: boolean;
}
