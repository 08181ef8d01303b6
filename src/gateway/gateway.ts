// A gateway: configuration in, traffic served. Puts the parts of both paths together and owns their order.
import type { AddressInfo } from 'node:net';
import type { EgressProxy } from '../base/egress-proxy.ts';
import { createFetcher, type GuardedFetcher } from '../base/fetch-json.ts';
import type { LocalGuard } from '../base/local-guard.ts';
import type { Log } from '../base/log.ts';
import { createSealer } from '../base/sealed.ts';
import type { Configuration } from '../ir/configuration.ts';
import type { TrustedProxies } from './http/client-view.ts';
import type { AppliedConfiguration } from './config/compile/applied-configuration.ts';
import type { CompileProblem } from './config/compile/compile-problem.ts';
import { ConfigStore } from './config/compile/config-store.ts';
import type { RuntimeConfig } from './config/runtime-config.ts';
import { AnonymousRequests } from './forward/anonymous-requests.ts';
import { createAppToolFinder } from './forward/ask-app-tools.ts';
import { createForwarder } from './forward/forward-request.ts';
import type { UpstreamLimits } from './forward/upstream/upstream-limits.ts';
import { LoopGuard } from './forward/loop-guard.ts';
import type { EndpointState } from './forward/upstream/endpoint-state.ts';
import { describeConnectFailure } from './forward/upstream/upstream-error.ts';
import type { UpstreamObserver } from './forward/upstream/upstream-observer.ts';
import { Upstreams } from './forward/upstream/upstreams.ts';
import { createRequestHandler } from './handle-request.ts';
import { StaleGate, type StaleState } from './request/stale-gate.ts';
import type { ListenLimits } from './listen/limits.ts';
import { type BindProblem, createListeners, type Listeners, type ListenersOptions } from './listen/listeners.ts';
import type { ListenEvent } from './listen/port-context.ts';
import type { FederationState } from './mcp/federation/federation-state.ts';
import { Federations } from './mcp/federation/federations.ts';
import { NotificationStreams } from './mcp/streams/list-changed.ts';
import { createObservers, type Observability } from './observe/observe-requests.ts';
import { JwtAuthenticationRegistry } from './authentication/jwt/jwt-authentication-registry.ts';
import type { Store } from '../store/store.ts';
import { AuthenticationRegistry } from './authentication/mcp/mcp-authentication-registry.ts';
import { connectIdp } from './authentication/login/idp/connect-idp.ts';
import { findPreset } from './authentication/login/idp/presets.ts';
import { openKeySource } from './authentication/token/open-key-source.ts';
import type { IdpAccess } from './workers/idp-access.ts';
import { listKeyProblems, type PolicyKeyProblem } from './authentication/key-problems.ts';
import type { ConfigMetrics, ConnectionMetrics, UpstreamMetrics } from './observe/request-metrics.ts';

export interface GatewayOptions extends Observability {
  readonly log: Log;
  readonly listenLimits: ListenLimits;
  readonly upstreamLimits: UpstreamLimits;
  readonly connectionMetrics: ConnectionMetrics;
  readonly upstreamMetrics: UpstreamMetrics;
  readonly configMetrics: ConfigMetrics;
  /** The peers whose X-Forwarded-* headers are trusted; none when absent. */
  readonly trustedProxies?: TrustedProxies | undefined;
  /** Addresses that no backend and no identity provider may have; none when absent. */
  readonly guard?: LocalGuard | undefined;
  /** Calls identity providers; the gateway makes its own, with the rules of address-guard.ts, when absent. */
  readonly fetcher?: GuardedFetcher;
  /** What calls to identity providers and for documents of clients go through; none when absent. */
  readonly egress?: EgressProxy | undefined;
  /** Fetches keys and metadata of identity providers; the gateway itself when absent. */
  readonly idps?: IdpAccess;
  /** Signs the message URLs of legacy SSE servers; a random one when absent. All processes on the same ports need the same key. */
  readonly legacySseKey?: Uint8Array;
  /** Whether policies may accept test tokens: in a gateway that reads files. Refused when absent. */
  readonly acceptsTestIssuers?: boolean;
  /** Where logins are kept that several requests have to know of; nowhere when absent. Whoever opened it closes it. */
  readonly store?: Store | undefined;
  /** In place of createListeners, where several processes share the ports. */
  readonly openListeners?: (options: ListenersOptions) => Listeners;
}

/** The result of applying a configuration. */
export interface ApplyReport {
  /** False: it equals the one in force. */
  readonly changed: boolean;
  readonly version: number;
  /** Messages that could not be used; they fail closed. */
  readonly problems: readonly CompileProblem[];
  /** Ports that could not be opened; tried again with the next configuration. */
  readonly bindProblems: readonly BindProblem[];
}

export interface Gateway {
  /** Puts a configuration in force. Open connections and streams go on. */
  apply(configuration: Configuration): Promise<ApplyReport>;
  readonly runtime: RuntimeConfig;
  readonly configuration: Configuration;
  /** Undefined: none was applied yet. */
  readonly applied: AppliedConfiguration | undefined;
  /** The health of every endpoint, as this process sees it. */
  listEndpoints(): readonly EndpointState[];
  /** How the servers of every federation are, as this process sees them. */
  listFederations(): readonly FederationState[];
  /** Policies whose keys are not available at the moment. */
  listKeyProblems(): readonly PolicyKeyProblem[];
  /** The actual addresses of the open ports, by bind key. */
  addresses(): ReadonlyMap<string, AddressInfo>;
  /**
   * The configuration is too old; undefined: no longer. Clients have to connect anew for each request, so that they get to another gateway. If it closes, every
   * request is answered with 503 `configuration_stale`, and open streams end.
   */
  setStale(state: StaleState | undefined): void;
  /** Closes the ports for new connections; those that are open go on. */
  stopAccepting(): Promise<void>;
  /** Finishes what was accepted, closes streams after the time, and resolves when nothing is open. */
  drain(timeoutMs: number): Promise<void>;
}

/** Builds a gateway that serves nothing yet. */
export function createGateway(options: GatewayOptions): Gateway {
  const { log } = options;
  const fetcher = options.fetcher ?? createFetcher({ log, guard: options.guard, proxy: options.egress });
  const idps = options.idps ?? { connectIdp, openKeySource };
  const { store: loginStore } = options;
  const authentications = new AuthenticationRegistry({
    ...idps,
    createSealer,
    findPreset,
    fetcher,
    log,
    store: loginStore,
  });
  const jwtAuthentications = new JwtAuthenticationRegistry({ ...idps, fetcher, log });
  const store = new ConfigStore(log, {
    acquireAuthentication: authentications.acquire,
    acquireJwtAuthentication: jwtAuthentications.acquire,
    acceptsTestIssuers: options.acceptsTestIssuers,
  });
  const upstreams = new Upstreams({
    limits: options.upstreamLimits,
    observer: watchUpstreams(options),
    guard: options.guard,
  });
  // In the turn of the swap: no request may see backends that the pools do not know.
  store.subscribe((current) => upstreams.reconcile(current.backends));
  store.subscribe((current) => authentications.reconcile(current.authentications));
  store.subscribe((current) => jwtAuthentications.reconcile(current.jwtAuthentications));
  const federations = new Federations({
    log,
    findBackend: (key) => upstreams.get(key),
    processKey: options.legacySseKey,
    observer: options.upstreamMetrics.targets,
  });
  store.subscribe((current) => federations.reconcile(current));
  // Last: clients react to these notifications at once with new requests.
  const streams = new NotificationStreams(log);
  store.subscribe((current) => streams.reconcile(current));
  const anonymous = new AnonymousRequests(log);
  store.subscribe((current) => anonymous.reconcile(current));
  const loopGuard = new LoopGuard(options.legacySseKey);
  store.subscribe((current) => loopGuard.useKeys(current.sealKeys));
  const staleGate = new StaleGate();
  const handler = createRequestHandler({
    loopGuard,
    staleGate,
    getConfig: () => store.current,
    forward: createForwarder({
      upstreams,
      log,
      streams,
      anonymous,
      federations,
      onStream(context) {
        const [count, leave] = [options.metrics.openStream(context), staleGate.openStream(context)];
        return () => {
          count();
          leave();
        };
      },
      picks: options.upstreamMetrics.picks,
      ...(options.legacySseKey !== undefined && { legacySseKey: options.legacySseKey }),
    }),
    observers: createObservers(options),
    log,
    random: Math.random,
    findAppTools: createAppToolFinder(federations, loopGuard, Math.random),
    trustedProxies: options.trustedProxies,
  });
  let applied: AppliedConfiguration | undefined;
  const openListeners = options.openListeners ?? createListeners;
  const listeners = openListeners({
    handler,
    limits: options.listenLimits,
    log,
    onEvent: (event) => countListenEvent(options.connectionMetrics, event),
  });
  return {
    async apply(configuration) {
      const { changed, version, problems } = store.apply(configuration);
      // Also when nothing changed: a port that was taken may be free now.
      const { current } = store;
      const bindProblems = await listeners.reconcile(current.ports);
      const atMs = changed || applied === undefined ? Date.now() : applied.atMs;
      applied = { atMs, problems, bindProblems };
      if (changed) options.configMetrics.applied(version, countResources(configuration));
      return { changed, version, problems, bindProblems };
    },
    get runtime() {
      return store.current;
    },
    get configuration() {
      return store.configuration;
    },
    get applied() {
      return applied;
    },
    listEndpoints: () => upstreams.listEndpoints(),
    listFederations: () => federations.describe(),
    listKeyProblems: () => listKeyProblems(store.current.keyUsers),
    addresses: () => listeners.addresses(),
    setStale(state) {
      staleGate.set(state);
      listeners.sendClientsAway(state !== undefined);
    },
    stopAccepting: () => listeners.stopAccepting(),
    async drain(timeoutMs) {
      await listeners.drain({ timeoutMs });
      // No client is left: only mirror copies and idle connections are still open.
      federations.close();
      upstreams.destroy();
      authentications.close();
      jwtAuthentications.close();
      if (options.fetcher === undefined) await fetcher.close();
    },
  };
}

/** Upstream trouble in the metrics, and in the log where an operator wants to read of it. */
function watchUpstreams({ log, upstreamMetrics }: GatewayOptions): UpstreamObserver {
  return {
    connectFailed(backend, endpoint, error) {
      upstreamMetrics.connectFailed(backend, describeConnectFailure(error));
      log.debug({ backend, endpoint, err: error }, 'cannot connect to an endpoint');
    },
    ejected(backend, endpoint, milliseconds, again) {
      if (!again) upstreamMetrics.endpointEjected(backend);
      log.warn({ backend, endpoint, milliseconds }, 'an endpoint accepts no connections and is ejected');
    },
    returned(backend, endpoint) {
      upstreamMetrics.endpointReturned(backend);
      log.info({ backend, endpoint }, 'an ejected endpoint accepts connections again');
    },
    retried: (backend) => upstreamMetrics.requestRetried(backend),
  };
}

function countResources({ listeners, routes, backends }: Configuration) {
  return { listeners: listeners.length, routes: routes.length, backends: backends.length };
}

function countListenEvent(metrics: ConnectionMetrics, event: ListenEvent): void {
  switch (event.type) {
    case 'connection-opened':
      return metrics.opened();
    case 'connection-closed':
      return metrics.closed();
    case 'request-refused':
      return metrics.refused(event.reason);
    case 'tls-handshake-failed':
      return metrics.handshakeFailed();
  }
}
