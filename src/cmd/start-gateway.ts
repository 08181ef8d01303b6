// A gateway process: log, metrics, traces, the gateway itself, its own ports, and how it ends. Shared by the commands that have one inside.
import { systemClock } from '../base/clock.ts';
import { createHangup } from '../base/hangup.ts';
import { createHealth, type Health } from '../base/health.ts';
import { createLocalGuard } from '../base/local-guard.ts';
import { createLog, type LogLevel, type RootLog } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { releaseMemoryWhenQuiet } from '../base/release-memory.ts';
import { createPalette } from '../base/terminal.ts';
import { createShutdown, logCrashes, type Shutdown } from '../base/shutdown.ts';
import { accessLogKind, createAccessLog, formatAccessText } from '../gateway/observe/access-log.ts';
import { startAdminServer } from '../gateway/admin/admin-server.ts';
import { describeAuthentications, listCallbackUrls } from '../gateway/admin/describe-authentications.ts';
import { describeRoutes } from '../gateway/admin/describe-routes.ts';
import { openSessions } from '../gateway/admin/open-sessions.ts';
import { startMetricsServer } from '../gateway/admin/metrics-server.ts';
import { startReadinessServer } from '../gateway/admin/readiness-server.ts';
import { CertificateKeeper } from '../gateway/config/compile/certificate-keeper.ts';
import type { KeptCertificate } from '../gateway/config/compile/keep-certificates.ts';
import { createFlowInspector } from '../gateway/observe/flow-inspector.ts';
import { type ApplyReport, createGateway, type Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import type { FederationState } from '../gateway/mcp/federation/federation-state.ts';
import { LiveRequests } from '../gateway/observe/live-requests.ts';
import { createRequestJournal } from '../gateway/observe/request-journal.ts';
import { createGatewayMetrics, type GatewayMetrics } from '../gateway/observe/request-metrics.ts';
import { startTracing } from '../gateway/observe/tracing.ts';
import type { Configuration } from '../ir/configuration.ts';
import { readOrCreateAdminToken } from './admin-token-file.ts';
import { requireEgressProxy } from './egress.ts';
import type { FlagValues } from './flags.ts';
import { openGatewayStore } from './gateway-store.ts';
import {
  type gatewayFlags,
  readListenLimits,
  readLocalGuard,
  readTrustedProxies,
  readUpstreamLimits,
  readWorkers,
} from './gateway-flags.ts';
import { countStreams, describeWait } from './open-streams.ts';
import { type OpenedPort, openOwnPorts, type OwnPort } from './own-ports.ts';
import type { ProcessHost } from './process-host.ts';
import type { Serving } from './serving.ts';
import { describeNothing, formatServing, type OwnPages, summarizeServing } from './serving-lines.ts';
import { StartError } from './start-error.ts';
import { readStoreFlags } from './store-flags.ts';
import { version } from '../base/version.ts';

/** A process whose own ports are open and whose gateway waits for its first configuration. */
export interface GatewayProcess {
  readonly log: RootLog;
  readonly gateway: Gateway;
  readonly metrics: GatewayMetrics;
  /** Where further metrics of the process go. */
  readonly registry: Metrics;
  /** Where further checks of its readiness go. */
  readonly health: Health;
  readonly shutdown: Shutdown;
  readonly pages: OwnPages;
  /** Applies the first configuration. Every port must open: a gateway that serves half of its ports would hide the fault. */
  applyFirst(configuration: Configuration): Promise<void>;
  /** Applies a later configuration, and logs what became of it. */
  applyChange(configuration: Configuration): Promise<ApplyReport>;
  /**
   * Applies a configuration, the first or a later one. The process is ready with the first, whatever cannot be used of it. Says what is new: problems
   * that stay are not said again.
   */
  applyAny(configuration: Configuration): Promise<ApplyReport>;
  /** Certificates that are served although their Secret is missing or unusable. */
  listKeptCertificates(): readonly KeptCertificate[];
  /** How the servers of federations are, as all processes see them. */
  readFederations(): Promise<readonly FederationState[]>;
  /** Shows at the admin port what is wrong with the resources, whatever is in force of them. */
  showProblems(problems: readonly string[]): void;
  /** What SIGHUP does from now on. Without it the log says that there is nothing to reload. */
  onReload(reload: () => Promise<void>): void;
  /** Closes everything that is open, for a start that cannot succeed. */
  abandon(): Promise<void>;
  /** Says what is served: a few lines on a terminal, one record in a JSON log. */
  announceServing(): void;
}

/** What differs between the commands that start a gateway. */
interface GatewaySetting {
  /** Own ports that move up while they are taken. */
  readonly movablePorts?: ReadonlySet<OwnPort>;
  /** Whether policies may accept test tokens: only where files are read. */
  readonly acceptsTestIssuers?: boolean;
  /** Completes "there is nothing to reload: ", for commands whose configuration is in no file. */
  readonly otherwise: string;
  /** Separates the entries of this gateway from those of others in the same store; none when absent. */
  readonly storeScope?: string;
}

/** Opens the process's own ports and builds the gateway. Throws a PortsTakenError when they cannot be opened; `movablePorts` move up before that. */
export async function startGatewayProcess(
  values: FlagValues<typeof gatewayFlags>,
  host: ProcessHost,
  { movablePorts = new Set(), acceptsTestIssuers = false, otherwise, storeScope }: GatewaySetting,
): Promise<GatewayProcess> {
  const proxies = readTrustedProxies(values);
  if (!proxies.ok) throw new StartError(proxies.problem);
  const workers = readWorkers(values);
  if (!workers.ok) throw new StartError(workers.problem);
  const storeSettings = readStoreFlags(values, storeScope);
  if (!storeSettings.ok) throw new StartError(storeSettings.problems.join('\n'));
  const egress = requireEgressProxy(host.env);
  const adminToken = values.adminTokenFile === '' ? undefined : readOrCreateAdminToken(values.adminTokenFile);
  if (adminToken?.ok === false) throw new StartError(adminToken.message);
  const isAlone = workers.workers === 1;
  const log = createLog({
    level: values.logLevel,
    format: values.logFormat,
    textFormatters: { [accessLogKind]: formatAccessText },
    isShared: !isAlone,
    env: host.env,
    ...(host.logSink === undefined ? {} : { destination: host.logSink }),
  });
  if (host.isWhole) {
    logCrashes(log);
    releaseMemoryWhenQuiet();
  }
  const shutdown = createShutdown({ ...host, log });
  const hangup = createHangup({ log, shutdown, otherwise, signals: host.signals });
  const registry = createMetrics({ processMetrics: true });
  const metrics = createGatewayMetrics(registry, version);
  const store = await openGatewayStore(storeSettings.settings, log, registry);
  const health = createHealth();
  const readiness = health.addCheck('configuration', 'no configuration has been applied yet');
  const tracing = isAlone ? await startTracing(host.env, log, version) : undefined;
  const flows = createFlowInspector();
  const journal = createRequestJournal();
  const live = new LiveRequests();
  if (log.isText && values.accessLog) live.lookForLog();
  const localGuard = readLocalGuard(values);
  const options: GatewayOptions = {
    log,
    flows,
    journal,
    live,
    listenLimits: readListenLimits(values),
    upstreamLimits: readUpstreamLimits(values),
    metrics: metrics.requests,
    connectionMetrics: metrics.connections,
    upstreamMetrics: metrics.upstreams,
    configMetrics: metrics.config,
    accessLog: values.accessLog ? createAccessLog(log) : undefined,
    trustedProxies: proxies.trustedProxies,
    guard: createLocalGuard(localGuard),
    egress,
    tracing,
    acceptsTestIssuers,
    store,
  };
  // Code for workers is loaded where there are some.
  const serving: Serving = isAlone
    ? { gateway: createGateway(options) }
    : (await import('./workers/serve-with-workers.ts')).serveWithWorkers(workers.workers, options, {
        log,
        values,
        registry,
        health,
        shutdown,
        flows,
        localGuard,
        live,
        store: storeSettings.settings,
      });
  const { gateway, expose, readJournal, readEndpoints, readFederations, tellLogLevel } = serving;
  const exposed = expose === undefined ? registry : { contentType: registry.contentType, expose };
  let sourceProblems: readonly string[] = [];
  let given: Configuration | undefined;
  const keeper = new CertificateKeeper({
    clock: systemClock,
    log,
    onExpired() {
      if (given === undefined || shutdown.started) return;
      apply(given).catch((error: unknown) => log.error({ err: error }, 'an expired certificate could not be removed'));
    },
  });
  const apply = (configuration: Configuration): Promise<ApplyReport> => {
    given = configuration;
    return gateway.apply(keeper.keep(configuration));
  };

  const address = values.observabilityAddress;
  const readMetrics = async (): Promise<string> => (expose === undefined ? registry.expose() : expose());
  const servers = await openOwnPorts(
    [
      {
        name: 'readinessPort',
        port: values.readinessPort,
        start: (port) => startReadinessServer({ address, port, health, log }),
      },
      {
        name: 'metricsPort',
        port: values.metricsPort,
        start: (port) =>
          startMetricsServer({
            address,
            port,
            metrics: exposed,
            log,
          }),
      },
      {
        name: 'adminPort',
        port: values.adminPort,
        start: (port) =>
          startAdminServer({
            port,
            token: adminToken?.token,
            version,
            getConfiguration: () => gateway.configuration,
            getRuntime: () => gateway.runtime,
            flows,
            journal,
            readJournal,
            live,
            getSessions: () => openSessions(gateway.runtime, store),
            metrics: exposed,
            readState: async () => ({
              applied: gateway.applied,
              endpoints: (await readEndpoints?.()) ?? gateway.listEndpoints(),
              federations: (await readFederations?.()) ?? gateway.listFederations(),
              keyProblems: gateway.listKeyProblems(),
              sourceProblems: [...sourceProblems, ...keeper.describe()],
              workers: workers.workers,
            }),
            log: tellLogLevel === undefined ? log : followLevel(log, tellLogLevel),
          }),
      },
    ],
    movablePorts,
  ).catch(async (error: unknown) => {
    await gateway.drain(0);
    await store.close();
    throw error;
  });
  const [readinessServer, metricsServer, adminServer] = servers as [OpenedPort, OpenedPort, OpenedPort];
  // Port 0 is whichever was free, and a port may have moved.
  localGuard.ownPorts.push(...servers.map(({ port }) => port));
  const pages: OwnPages = {
    admin: adminServer.url,
    metrics: metricsServer.url,
    readiness: readinessServer.url,
    taken: {
      ...(adminServer.takenPort !== undefined && { admin: adminServer.takenPort }),
      ...(metricsServer.takenPort !== undefined && { metrics: metricsServer.takenPort }),
      ...(readinessServer.takenPort !== undefined && { readiness: readinessServer.takenPort }),
    },
  };

  shutdown.addStep({ name: 'report not ready', timeoutMs: 1_000, run: () => readiness.fail('shutting down') });
  // Load balancers poll readiness, and send new connections until they see that this gateway is not ready.
  shutdown.addStep({
    name: 'wait until load balancers have noticed',
    timeoutMs: values.shutdownDelay + 1_000,
    run: () => new Promise((resolve) => void setTimeout(resolve, values.shutdownDelay)),
  });
  shutdown.addStep({
    name: 'drain connections',
    timeoutMs: values.drainTimeout + 5_000,
    run: async () => {
      const streams = countStreams(await readMetrics());
      const wait = describeWait(streams, values.drainTimeout, shutdown.reason);
      if (wait !== undefined && log.isText) host.stderr(`${wait}\n`);
      else if (wait !== undefined) log.info({ streams, timeout_ms: values.drainTimeout }, wait);
      await gateway.drain(values.drainTimeout);
    },
  });
  // After the last request, which may have been a login.
  shutdown.addStep({ name: 'close the store', timeoutMs: 2_000, run: () => store.close() });
  shutdown.addStep({ name: 'export the last traces', timeoutMs: 5_000, run: () => tracing?.stop(4_000) });
  shutdown.addStep({
    name: 'close own ports',
    timeoutMs: 2_000,
    run: async () => {
      await Promise.all(servers.map((server) => server.close()));
    },
  });
  shutdown.addStep({ name: 'write the log', timeoutMs: 2_000, run: () => log.flush() });

  const abandon = async (): Promise<void> => {
    await gateway.drain(0);
    await store.close();
    await Promise.all(servers.map((server) => server.close()));
  };
  await serving.start?.().catch(async (error: unknown) => {
    await abandon();
    throw error;
  });
  const logProblems = (report: ApplyReport): void => {
    for (const { key, message } of report.problems) log.error({ key }, message);
  };
  const logInForce = (report: ApplyReport, configuration: Configuration): void => {
    const { listeners, routes, backends, policies } = configuration;
    const counts = {
      listeners: listeners.length,
      routes: routes.length,
      backends: backends.length,
      policies: policies.length,
    };
    log.info({ version: report.version, ...counts }, 'the new configuration is in force');
  };
  /** From files, who serves nothing is not ready: there is nobody else who would notice. */
  const reportReadiness = ({ bindProblems }: ApplyReport): void => {
    if (shutdown.started) return;
    const nothing = describeNothing(describeRoutes(gateway.runtime));
    if (nothing === undefined)
      readiness.pass(bindProblems.length === 0 ? undefined : bindProblems.map(({ message }) => message).join(' '));
    else readiness.fail(nothing);
  };
  let retry: NodeJS.Timeout | undefined;
  /** A port that was taken may be free soon. */
  const retryPorts = ({ bindProblems }: ApplyReport): void => {
    clearTimeout(retry);
    if (bindProblems.length === 0 || shutdown.started) return;
    retry = setTimeout(() => {
      gateway
        .apply(gateway.configuration)
        .then((report) => {
          reportReadiness(report);
          if (report.bindProblems.length === 0) log.info({}, 'all ports are open now');
          retryPorts(report);
        })
        .catch((error: unknown) => log.error({ err: error }, 'ports could not be opened again'));
    }, retryPortsMs);
    retry.unref();
  };
  let known: ReadonlySet<string> = new Set();
  return {
    log,
    gateway,
    metrics,
    registry,
    health,
    shutdown,
    pages,
    abandon,
    listKeptCertificates: () => keeper.kept,
    readFederations: async () => (await readFederations?.()) ?? gateway.listFederations(),
    showProblems(problems) {
      sourceProblems = problems;
    },
    onReload: (reload) => hangup.onReload(reload),
    announceServing() {
      const served = describeRoutes(gateway.runtime);
      const callbacks = listCallbackUrls(describeAuthentications(gateway.runtime));
      if (log.isText) {
        log.flushSync();
        host.stdout(formatServing(served, callbacks, pages, createPalette(host.color)));
        return;
      }
      // By issuer: what its client has to have as redirect URIs.
      const redirectUris = callbacks.size === 0 ? {} : { redirectUris: Object.fromEntries(callbacks) };
      log.info({ version, served: summarizeServing(served), pages, ...redirectUris }, 'serving');
    },
    async applyFirst(configuration) {
      const report = await apply(configuration);
      logProblems(report);
      if (report.bindProblems.length > 0) {
        await abandon();
        throw new StartError(report.bindProblems.map(({ message }) => message).join('\n'));
      }
      reportReadiness(report);
    },
    async applyChange(configuration) {
      const report = await apply(configuration);
      for (const { bindKey, message } of report.bindProblems) log.error({ bindKey }, message);
      if (report.changed) {
        logProblems(report);
        logInForce(report, configuration);
      }
      reportReadiness(report);
      retryPorts(report);
      return report;
    },
    async applyAny(configuration) {
      const report = await apply(configuration);
      const problems = [
        ...report.problems.map(({ key, message }) => ({ fields: { key }, message })),
        ...report.bindProblems.map(({ bindKey, message }) => ({ fields: { bindKey }, message })),
      ].map((problem) => ({ ...problem, id: JSON.stringify(problem) }));
      for (const { id, fields, message } of problems) if (!known.has(id)) log.error(fields, message);
      known = new Set(problems.map(({ id }) => id));
      metrics.config.setProblems(report.problems.length);
      if (report.changed) logInForce(report, configuration);
      // A change may still come while the last requests are served.
      if (!shutdown.started) readiness.pass();
      return report;
    },
  };
}

/** How often a port that could not be opened is tried again. */
const retryPortsMs = 5_000;

/** Lets others know when the level changes. */
function followLevel(log: RootLog, tell: (level: LogLevel) => void): RootLog {
  return {
    ...log,
    get level() {
      return log.level;
    },
    setLevel(level) {
      log.setLevel(level);
      tell(level);
    },
  };
}
