// What a case of the benchmarks is.

/** One request, sent again and again. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent one after the other and from the start again. */
  readonly bodies?: readonly string[];
  /** Made when they are needed: sent as bearer tokens, one after the other and from the start again. */
  readonly tokens?: () => readonly string[];
  /** Sent once beforehand: every request carries what its answer has in the header field `keeps`. */
  readonly opening?: { readonly body: string; readonly keeps: string };
}

/** What the proxy must answer, or something else is measured than what the case says. */
export interface BenchAnswer {
  readonly status: number;
  /** Undefined: whatever it is. */
  readonly body?: string | RegExp;
}

/** Where a proxy listens, and what is behind it. */
export interface BenchPorts {
  readonly gateway: number;
  readonly upstream: number;
}

/** Our gateway, or one of the proxies that it is compared with. */
export type BenchProxy =
  | {
      readonly kind: 'gateway';
      /** The resources of a gateway on this port, in front of an upstream on that one. */
      readonly resources: (ports: BenchPorts) => readonly object[];
      /** Further flags of `mcp-gatehouse run`. */
      readonly flags?: readonly string[];
      /** The content of its signing key file. */
      readonly signingKeys?: string;
      /** The folder of another checkout, whose program is started. */
      readonly checkout?: string;
    }
  | { readonly kind: 'nginx' | 'haproxy' | 'envoy'; readonly configure: (ports: PeerPorts) => string };

/** The same for a peer, and where it may put what it needs. */
export interface PeerPorts extends BenchPorts {
  readonly folder: string;
}

/** A proxy with its configuration, and the request that it gets. */
export interface BenchCase {
  readonly name: string;
  /** Completes "the gateway ..." or "nginx ...". */
  readonly description: string;
  /** Cases that do the same, for the plot. */
  readonly group?: string;
  readonly proxy: BenchProxy;
  readonly request: BenchRequest;
  readonly answer: BenchAnswer;
  /** 32 unless it says something else. */
  readonly connections?: number;
}
