// A gateway whose traffic is served by workers. This process has the configuration, the identity providers and the gateway's own ports; it opens no port for
// traffic and sees no request.
import { createFetcher } from '../../base/fetch-json.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../gateway/gateway.ts';
import { mergeEndpointStates } from '../../gateway/forward/upstream/endpoint-state.ts';
import { mergeFederationStates } from '../../gateway/mcp/federation/merge-states.ts';
import type { JournaledRequest } from '../../gateway/observe/journaled-request.ts';
import { maxHeldBytes } from '../../gateway/http/body-budget.ts';
import { divideLimit } from '../../gateway/workers/divide-limits.ts';
import { takeRelayedStep } from '../../gateway/workers/flow-relay.ts';
import { LoginDesk } from '../../gateway/workers/login-desk.ts';
import { createPortClaims } from '../../gateway/workers/port-claims.ts';
import { PublishedSources } from '../../gateway/workers/published-sources.ts';
import { sumExpositions } from '../../gateway/workers/sum-expositions.ts';
import type { WorkerReport, WorkerSettings } from '../../gateway/workers/worker-calls.ts';
import { type StartWorkerProcess, WorkerGroup, WorkerStartError } from '../../gateway/workers/worker-group.ts';
import { StartError } from '../start-error.ts';
import type { Serving, ServingContext } from '../serving.ts';
import { startWorkerProcess } from './start-worker-process.ts';

/** Requests that the journal of all workers together shows. */
const maxRequests = 1_000;

/** Makes ready to start the workers. */
export function serveWithWorkers(
  count: number,
  options: GatewayOptions,
  context: ServingContext,
  startProcess: StartWorkerProcess = startWorkerProcess,
): Serving {
  const { log, values, registry, health, shutdown, flows, live, localGuard, store } = context;
  const fetcher = createFetcher({ log, guard: options.guard, proxy: options.egress });
  const desk = new LoginDesk(fetcher, Date.now, log);
  const sources = new PublishedSources(
    {
      takeKeys: (news) => group.tell('takeKeys', news),
      takeMetadata: (news) => group.tell('takeMetadata', news),
    },
    (id) => desk.forgetIdp(id),
  );
  const watched = new WatchedAgents();
  let stale: Parameters<Gateway['setStale']>[0];
  const readiness = health.addCheck('workers', 'no worker is ready yet');
  const legacySseKey = crypto.getRandomValues(new Uint8Array(32));
  const running = registry.gauge('mcp_gateway_workers', 'Workers that take requests now.', {});
  const ends = registry.counter('mcp_gateway_worker_ends_total', 'Workers that have ended by themselves.', {});
  running.set({}, 0);
  registry.gaugesOf(
    'mcp_gateway_worker_connections',
    'Open client connections of each worker, when it was asked last.',
    'worker',
    () => group.listConnections(),
  );

  const describeSettings = (number: number): WorkerSettings => {
    const share = (limit: number): number => divideLimit(limit, count, number - 1);
    const { listenLimits, upstreamLimits } = options;
    return {
      number,
      logLevel: log.level,
      logFormat: values.logFormat,
      accessLog: values.accessLog,
      listenLimits: { ...listenLimits, maxConnections: share(listenLimits.maxConnections) },
      upstreamLimits: {
        ...upstreamLimits,
        maxConcurrentRequests: share(upstreamLimits.maxConcurrentRequests),
        maxWaitingRequests: share(upstreamLimits.maxWaitingRequests),
      },
      maxHeldBytes: share(maxHeldBytes),
      trustedProxies: values.trustedProxies,
      localGuard,
      drainTimeoutMs: values.drainTimeout,
      legacySseKey,
      acceptsTestIssuers: options.acceptsTestIssuers === true,
      store,
    };
  };
  const group = new WorkerGroup({
    count,
    log,
    startProcess,
    describeSettings,
    offer: (worker) => ({
      loadKeys: (id) => sources.loadKeys(id),
      refetchKeys: (id) => sources.refetchKeys(id),
      getMetadata: (id) => sources.getMetadata(id),
      ...desk.serve(worker),
      tellFlow(step) {
        const agent = takeRelayedStep(flows, step);
        if (watched.add(agent)) group.tell('watchFlow', agent);
      },
      tellRequests: (batch) => live.take(batch),
    }),
    greet(channel) {
      sources.greet({
        takeKeys: (news) => channel.tell('takeKeys', news),
        takeMetadata: (news) => channel.tell('takeMetadata', news),
      });
      for (const agent of watched.list()) channel.tell('watchFlow', agent);
      if (live.isWatched) channel.tell('watchRequests', true);
      // Before its first configuration: it must not serve a request in between.
      if (stale !== undefined) channel.tell('setStale', stale);
    },
    onChange(serving) {
      running.set({}, serving);
      if (serving > 0) readiness.pass();
      else readiness.fail('no worker is running');
    },
    onEnd(worker) {
      desk.leave(worker);
      if (!shutdown.started) ends.add({});
    },
  });
  live.follow((isWatched) => group.tell('watchRequests', isWatched));
  // After a second signal, or when a step took too long. Without a signal workers end by themselves when this process is gone, and drain first.
  process.on('exit', () => {
    if (shutdown.started) group.killAll();
  });

  const gateway = createSharedGateway(options, sources, fetcher, group, (state) => {
    stale = state;
    group.tell('setStale', state);
  });
  return {
    gateway,
    async start() {
      await startGroup(group);
      log.info({ workers: count }, 'the workers have started');
    },
    async expose() {
      const { texts, departed } = await group.readMetrics();
      return sumExpositions(await registry.expose(), texts, departed);
    },
    readJournal: async () => mergeJournals(await group.listRequests()),
    readEndpoints: async () => mergeEndpointStates(await group.listEndpoints()),
    readFederations: async () => mergeFederationStates(await group.listFederations()),
    tellLogLevel: (level) => group.tell('setLogLevel', level),
  };
}

async function startGroup(group: WorkerGroup): Promise<void> {
  try {
    await group.start();
  } catch (error) {
    if (error instanceof WorkerStartError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

/** Compiles, connects to identity providers and describes as any gateway does; the workers listen. */
function createSharedGateway(
  options: GatewayOptions,
  idps: PublishedSources,
  fetcher: ReturnType<typeof createFetcher>,
  group: WorkerGroup,
  setStale: Gateway['setStale'],
): Gateway {
  const { configMetrics } = options;
  const inner = createGateway({
    ...options,
    idps,
    fetcher,
    openListeners: createPortClaims,
    // In force is what the workers have.
    configMetrics: { ...configMetrics, applied: () => {} },
  });
  let merged: WorkerReport | undefined;
  return {
    ...inner,
    setStale,
    async apply(configuration) {
      const report = await inner.apply(configuration);
      const blocked = report.bindProblems.map(({ bindKey }) => bindKey);
      const reports = await group.apply(inner.configuration, blocked);
      if (report.changed) {
        const { listeners, routes, backends } = inner.configuration;
        configMetrics.applied(report.version, {
          listeners: listeners.length,
          routes: routes.length,
          backends: backends.length,
        });
      }
      merged = mergeReports([report, ...reports]);
      return { ...report, ...merged };
    },
    get applied() {
      return inner.applied === undefined ? undefined : { ...inner.applied, ...merged };
    },
    get runtime() {
      return inner.runtime;
    },
    get configuration() {
      return inner.configuration;
    },
    async drain(timeoutMs) {
      await group.drain(timeoutMs);
      await inner.drain(timeoutMs);
      await fetcher.close();
    },
  };
}

/** Every problem once, whoever has it. */
function mergeReports(reports: readonly WorkerReport[]): WorkerReport {
  const unique = <T extends object>(list: readonly T[]): T[] => [
    ...new Map(list.map((each) => [JSON.stringify(each), each])).values(),
  ];
  return {
    problems: unique(reports.flatMap(({ problems }) => problems)),
    bindProblems: unique(reports.flatMap(({ bindProblems }) => bindProblems)),
  };
}

function mergeJournals(
  lists: readonly (readonly JournaledRequest[])[],
): Awaited<ReturnType<NonNullable<Serving['readJournal']>>> {
  const requests = lists
    .flat()
    .toSorted((left, right) => (left.time < right.time ? 1 : left.time > right.time ? -1 : 0));
  const shown = requests.slice(0, maxRequests);
  return { list: () => shown, find: (id) => requests.find((request) => request.id === id) };
}

/** Whose requests are counted: bounded, the latest. */
class WatchedAgents {
  readonly #agents = new Set<string>();

  /** False: known already. */
  add(agent: string): boolean {
    if (this.#agents.has(agent)) return false;
    if (this.#agents.size >= 1_000) this.#agents.delete(this.#agents.keys().next().value!);
    this.#agents.add(agent);
    return true;
  }

  list(): Iterable<string> {
    return this.#agents;
  }
}
