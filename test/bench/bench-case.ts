// What a case of the benchmarks is.

/** One request, sent again and again. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Where the gateway listens, and what is behind it. */
export interface BenchPorts {
  readonly gateway: number;
  readonly upstream: number;
}

/** A configuration of the gateway and the request that it gets. */
export interface BenchCase {
  readonly name: string;
  /** Completes "the gateway ...". */
  readonly description: string;
  /** The resources of a gateway on this port, in front of an upstream on that one. */
  readonly resources: (ports: BenchPorts) => readonly object[];
  readonly request: BenchRequest;
  /** What the case may cost at most, as a multiple of the first case of the run. Undefined: it is only shown. */
  readonly limit?: number;
}

/** Cases that are run and compared together, by name. The first is what the others are compared with. */
export type BenchGroups = Readonly<Record<string, readonly BenchCase[]>>;
