// All backends with their endpoints and connections. They outlive configuration changes: what did not change keeps its connections and its
// requests in flight, what was removed is closed when its last stream has ended.
import type { LocalGuard } from '../../../base/local-guard.ts';
import type { BackendConfig } from '../../config/runtime-config.ts';
import { tagEndpoint } from '../../mcp/sessions/session-routing.ts';
import type { EndpointState } from './endpoint-state.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { pickLeastOfTwo } from './load-balance.ts';
import { SilenceWatch } from './silence-watch.ts';
import { defaultUpstreamLimits, type UpstreamLimits } from './upstream-limits.ts';
import { silentUpstreamObserver, type UpstreamObserver } from './upstream-observer.ts';

export interface UpstreamsOptions {
  readonly limits?: Partial<UpstreamLimits>;
  /** Numbers in [0, 1). */
  readonly random?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly observer?: UpstreamObserver;
  /** Addresses that are not connected to; none when absent. */
  readonly guard?: LocalGuard | undefined;
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
  /** Over the answers; undefined when they may be silent for as long as they like. */
  readonly silence: SilenceWatch | undefined;
  readonly #random: () => number;
  readonly #former: ReadonlyMap<string, FormerEndpoint>;
  readonly #now: () => number;
  #byName: ReadonlyMap<string, Endpoint> | undefined;

  constructor(
    config: BackendConfig,
    endpoints: readonly Endpoint[],
    former: ReadonlyMap<string, FormerEndpoint>,
    random: () => number,
    now: () => number,
  ) {
    this.#former = former;
    this.#now = now;
    this.config = config;
    this.silence = config.idleTimeoutMs === 0 ? undefined : new SilenceWatch(config.idleTimeoutMs);
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

  /** The endpoint with this host:port; also one that has just left the configuration, because an endpoint picker may not know that yet. */
  findByName(name: string): Endpoint | undefined {
    this.#byName ??= new Map(this.endpoints.map((endpoint) => [endpoint.pool.name, endpoint]));
    const former = this.#former.get(name);
    const isRecent = former !== undefined && this.#now() - former.leftAt < formerMs;
    return this.#byName.get(name) ?? (isRecent ? former.endpoint : undefined);
  }

  /** The endpoints that are not among those of the next configuration, and have not left long ago. */
  listFormer(next: ReadonlySet<Endpoint>): ReadonlyMap<string, FormerEndpoint> {
    const leftAt = this.#now();
    const left = this.endpoints.map((endpoint) => ({ endpoint, leftAt }));
    const all = [...this.#former.values(), ...left].filter(
      (former) => !next.has(former.endpoint) && leftAt - former.leftAt < formerMs,
    );
    return new Map(all.map((former) => [former.endpoint.pool.name, former]));
  }

  /** The endpoint that a session id names. */
  findByTag(tag: string): Endpoint | undefined {
    return this.endpoints.find((endpoint) => endpoint.tag === tag);
  }
}

/** An endpoint that left the configuration. */
interface FormerEndpoint {
  readonly endpoint: Endpoint;
  readonly leftAt: number;
}

/** How long an endpoint picker may still choose it. */
const formerMs = 3_000;
const noFormer: ReadonlyMap<string, FormerEndpoint> = new Map();

interface PooledEndpoint extends Endpoint {
  readonly identity: string;
}

/** The registry of upstream connections of one gateway process: backends by key. Limits that are not given have the defaults of upstream-limits.ts. */
export class Upstreams {
  readonly limits: UpstreamLimits;
  readonly observer: UpstreamObserver;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #guard: LocalGuard | undefined;
  #backends = new Map<
    string,
    { readonly backend: UpstreamBackend; readonly endpoints: ReadonlyMap<string, PooledEndpoint> }
  >();
  readonly #closing = new Set<EndpointPool>();

  constructor(options: UpstreamsOptions = {}) {
    this.limits = { ...defaultUpstreamLimits, ...options.limits };
    this.observer = options.observer ?? silentUpstreamObserver;
    this.#guard = options.guard;
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? (() => performance.now());
  }

  get(key: string): UpstreamBackend | undefined {
    return this.#backends.get(key)?.backend;
  }

  /** Every endpoint of every backend, those of endpoint pickers too. */
  listEndpoints(): readonly EndpointState[] {
    return [...this.#backends.values()].flatMap(({ endpoints }) =>
      [...endpoints.values()].map(({ pool }) => pool.describe()),
    );
  }

  /** Takes over a configuration. Call it in the same turn in which requests begin to see that configuration. */
  reconcile(backends: ReadonlyMap<string, BackendConfig>): void {
    const before = this.#backends;
    const after: typeof before = new Map();
    for (const [key, config] of listConnected(backends)) {
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
      const list = [...endpoints.values()];
      const former = config.picker === undefined ? noFormer : (known?.backend.listFormer(new Set(list)) ?? noFormer);
      after.set(key, { backend: new UpstreamBackend(config, list, former, this.#random, this.#now), endpoints });
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
      guard: this.#guard,
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

/** The key of the endpoints of a pool's picker: they are connected to like those of any backend. */
export function formatPickerKey(pool: string): string {
  return `${pool}/picker`;
}

/** The backends with the endpoint pickers and the targets of federations, which are connected to like backends. */
function* listConnected(backends: ReadonlyMap<string, BackendConfig>): Iterable<[string, BackendConfig]> {
  for (const [key, config] of backends) {
    yield [key, config];
    for (const { backend } of config.federation?.targets ?? []) yield [backend.key, backend];
    if (config.picker === undefined) continue;
    const { fingerprint, endpoints, tls, connectTimeoutMs } = config.picker;
    const own = { key: formatPickerKey(key), fingerprint, endpoints, tls, connectTimeoutMs };
    yield [own.key, { ...config, ...own, protocol: 'h2c', hostHeader: '', mcp: undefined, picker: undefined }];
  }
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
