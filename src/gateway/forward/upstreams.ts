// All backends with their endpoints and connections. They outlive configuration changes: what did not change keeps its connections and its
// requests in flight, what was removed is closed when its last stream has ended.
import type { BackendConfig } from '../config/runtime-config.ts';
import { tagEndpoint } from '../mcp/session-routing.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { pickLeastOfTwo } from './load-balance.ts';
import { defaultUpstreamLimits, type UpstreamLimits } from './upstream-limits.ts';
import { silentUpstreamObserver, type UpstreamObserver } from './upstream-observer.ts';

export interface UpstreamsOptions {
  readonly limits?: Partial<UpstreamLimits>;
  /** Numbers in [0, 1). */
  readonly random?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly observer?: UpstreamObserver;
}

/** One endpoint of a backend. */
export interface Endpoint {
  readonly pool: EndpointPool;
  /** A short name for this endpoint that clients carry in their session ids. */
  readonly tag: string;
  readonly outstanding: number;
}

/** The endpoints of one backend at this moment. */
export class UpstreamBackend {
  readonly config: BackendConfig;
  readonly endpoints: readonly Endpoint[];
  readonly #random: () => number;

  constructor(config: BackendConfig, endpoints: readonly Endpoint[], random: () => number) {
    this.config = config;
    this.endpoints = endpoints;
    this.#random = random;
  }

  /** The endpoint for the next try. Healthy ones first; when none is, any (a wrong guess about health must not close a backend). Undefined: all were tried. */
  pick(tried: readonly Endpoint[]): Endpoint | undefined {
    const untried =
      tried.length === 0 ? this.endpoints : this.endpoints.filter((endpoint) => !tried.includes(endpoint));
    if (untried.length <= 1) return untried[0];
    const healthy = untried.filter((endpoint) => endpoint.pool.health.isAvailable);
    return pickLeastOfTwo(healthy.length === 0 ? untried : healthy, this.#random);
  }

  /** The endpoint that a session id names. */
  findByTag(tag: string): Endpoint | undefined {
    return this.endpoints.find((endpoint) => endpoint.tag === tag);
  }
}

interface PooledEndpoint extends Endpoint {
  readonly identity: string;
}

/** The registry: backends by key. */
export class Upstreams {
  readonly limits: UpstreamLimits;
  readonly observer: UpstreamObserver;
  readonly #random: () => number;
  readonly #now: () => number;
  #backends = new Map<
    string,
    { readonly backend: UpstreamBackend; readonly endpoints: ReadonlyMap<string, PooledEndpoint> }
  >();
  readonly #closing = new Set<EndpointPool>();

  constructor(options: UpstreamsOptions = {}) {
    this.limits = { ...defaultUpstreamLimits, ...options.limits };
    this.observer = options.observer ?? silentUpstreamObserver;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? (() => performance.now());
  }

  get(key: string): UpstreamBackend | undefined {
    return this.#backends.get(key)?.backend;
  }

  /** Takes over a configuration. Call it in the same turn in which requests begin to see that configuration. */
  reconcile(backends: ReadonlyMap<string, BackendConfig>): void {
    const before = this.#backends;
    const after: typeof before = new Map();
    for (const [key, config] of backends) {
      const known = before.get(key);
      if (known !== undefined && known.backend.config.fingerprint === config.fingerprint) {
        after.set(key, known);
        continue;
      }
      const endpoints = new Map<string, PooledEndpoint>();
      for (const { host, port } of config.endpoints) {
        const identity = identifyEndpoint(config, host, port);
        endpoints.set(identity, known?.endpoints.get(identity) ?? this.#createEndpoint(config, host, port, identity));
      }
      after.set(key, { backend: new UpstreamBackend(config, [...endpoints.values()], this.#random), endpoints });
    }
    this.#backends = after;
    for (const [key, { endpoints }] of before) {
      const kept = after.get(key)?.endpoints;
      for (const [identity, endpoint] of endpoints) if (kept?.get(identity) !== endpoint) this.#retire(endpoint.pool);
    }
  }

  #createEndpoint(config: BackendConfig, host: string, port: number, identity: string): PooledEndpoint {
    const pool = new EndpointPool({
      host,
      port,
      settings: config,
      limits: this.limits,
      now: this.#now,
      backend: config.key,
      observer: this.observer,
    });
    return {
      identity,
      pool,
      tag: tagEndpoint(config.key, host, port),
      get outstanding() {
        return pool.outstanding;
      },
    };
  }

  #retire(pool: EndpointPool): void {
    this.#closing.add(pool);
    void pool.close().then(() => this.#closing.delete(pool));
  }

  /** Resolves when everything in flight has ended. */
  async close(): Promise<void> {
    this.reconcile(new Map());
    await Promise.all([...this.#closing].map((pool) => pool.close()));
  }

  /** Breaks off everything that is still in flight. */
  destroy(error: Error = new Error('the gateway is shutting down')): void {
    this.reconcile(new Map());
    for (const pool of this.#closing) pool.destroy(error);
  }
}

/** The registry of upstream connections of one gateway process. Limits that are not given have the defaults of upstream-limits.ts. */
export function createUpstreams(options: UpstreamsOptions = {}): Upstreams {
  return new Upstreams(options);
}

// Same identity: the same connections will do. Other settings of a backend (time-outs of requests, MCP) are read with every request.
function identifyEndpoint(config: BackendConfig, host: string, port: number): string {
  const { tls } = config;
  return JSON.stringify([
    host,
    port,
    config.protocol,
    config.connectTimeoutMs,
    tls === undefined ? null : [tls.serverName, tls.ca ?? null, tls.insecureSkipVerify],
  ]);
}
