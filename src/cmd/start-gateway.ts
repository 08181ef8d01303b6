// A gateway process: log, metrics, traces, the gateway itself, its own ports, and how it ends. Shared by the commands that have one inside.
import { createHealth } from '../base/health.ts';
import { createLocalGuard } from '../base/local-guard.ts';
import { createLog, type LogLevel, type RootLog } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { releaseMemoryWhenQuiet } from '../base/release-memory.ts';
import { createShutdown, logCrashes, type Shutdown } from '../base/shutdown.ts';
import { accessLogKind, createAccessLog, formatAccessText } from '../gateway/observe/access-log.ts';
import { startAdminServer } from '../gateway/admin/admin-server.ts';
import { describeRoutes } from '../gateway/admin/describe-routes.ts';
import { startMetricsServer } from '../gateway/admin/metrics-server.ts';
import { ListenFailedError, type PlainServer, PortInUseError } from '../gateway/admin/plain-server.ts';
import { startReadinessServer } from '../gateway/admin/readiness-server.ts';
import { createFlowInspector } from '../gateway/observe/flow-inspector.ts';
import { type ApplyReport, createGateway, type Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import { createRequestJournal } from '../gateway/observe/request-journal.ts';
import { createGatewayMetrics, type GatewayMetrics } from '../gateway/observe/request-metrics.ts';
import { startTracing } from '../gateway/observe/tracing.ts';
import type { Configuration } from '../ir/configuration.ts';
import { readOrCreateAdminToken } from './admin-token-file.ts';
import type { FlagValues } from './flags.ts';
import {
  type gatewayFlags,
  readListenLimits,
  readLocalGuard,
  readTrustedProxies,
  readUpstreamLimits,
  readWorkers,
} from './gateway-flags.ts';
import { type ProcessHost, wholeProcess } from './process-host.ts';
import type { Serving } from './serving.ts';
import { formatServing, type OwnPages, summarizeServing } from './serving-lines.ts';
import { StartError } from './start-error.ts';
import { version } from './version.ts';

/** A process whose own ports are open and whose gateway waits for its first configuration. */
export interface GatewayProcess {
  readonly log: RootLog;
  readonly gateway: Gateway;
  readonly metrics: GatewayMetrics;
  /** Where further metrics of the process go. */
  readonly registry: Metrics;
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
  /** Closes everything that is open, for a start that cannot succeed. */
  abandon(): Promise<void>;
  /** Says what is served: a few lines on a terminal, one record in a JSON log. */
  announceServing(): void;
}

/** Opens the process's own ports and builds the gateway. Throws a StartError when a port cannot be opened. */
export async function startGatewayProcess(
  values: FlagValues<typeof gatewayFlags>,
  host: ProcessHost = wholeProcess(),
  acceptance: Pick<GatewayOptions, 'acceptsTestIssuers'> = {},
): Promise<GatewayProcess> {
  const proxies = readTrustedProxies(values);
  if (!proxies.ok) throw new StartError(proxies.problem);
  const workers = readWorkers(values);
  if (!workers.ok) throw new StartError(workers.problem);
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
  const registry = createMetrics({ processMetrics: true });
  const metrics = createGatewayMetrics(registry, version);
  const health = createHealth();
  const readiness = health.addCheck('configuration', 'no configuration has been applied yet');
  const tracing = isAlone ? await startTracing(host.env, log, version) : undefined;
  const flows = createFlowInspector();
  const journal = createRequestJournal();
  const localGuard = readLocalGuard(values);
  const options: GatewayOptions = {
    log,
    flows,
    journal,
    listenLimits: readListenLimits(values),
    upstreamLimits: readUpstreamLimits(values),
    metrics: metrics.requests,
    connectionMetrics: metrics.connections,
    upstreamMetrics: metrics.upstreams,
    configMetrics: metrics.config,
    accessLog: values.accessLog ? createAccessLog(log) : undefined,
    trustedProxies: proxies.trustedProxies,
    guard: createLocalGuard(localGuard),
    tracing,
    ...acceptance,
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
      });
  const { gateway, expose, readJournal, tellLogLevel } = serving;

  const address = values.observabilityAddress;
  const servers = await openOwnPorts([
    () => startReadinessServer({ address, port: values.readinessPort, health, log }),
    () =>
      startMetricsServer({
        address,
        port: values.metricsPort,
        metrics: expose === undefined ? registry : { contentType: registry.contentType, expose },
        log,
      }),
    () =>
      startAdminServer({
        port: values.adminPort,
        token: adminToken?.token,
        version,
        getConfiguration: () => gateway.configuration,
        getRuntime: () => gateway.runtime,
        flows,
        journal,
        readJournal,
        log: tellLogLevel === undefined ? log : followLevel(log, tellLogLevel),
      }),
  ]).catch(async (error: unknown) => {
    await gateway.drain(0);
    throw error;
  });
  const [readinessServer, metricsServer, adminServer] = servers as [PlainServer, PlainServer, PlainServer];
  // Port 0 is whichever was free.
  localGuard.ownPorts.push(...servers.map(({ port }) => port));
  const pages = { admin: adminServer.url, metrics: metricsServer.url, readiness: readinessServer.url };

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
    run: () => gateway.drain(values.drainTimeout),
  });
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
    await Promise.all(servers.map((server) => server.close()));
  };
  await serving.ready?.catch(async (error: unknown) => {
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
  let known: ReadonlySet<string> = new Set();
  return {
    log,
    gateway,
    metrics,
    registry,
    shutdown,
    pages,
    abandon,
    announceServing() {
      const served = describeRoutes(gateway.runtime);
      if (log.isText) {
        log.flushSync();
        host.stdout(formatServing(served, pages));
      } else log.info({ version, served: summarizeServing(served), pages }, 'serving');
    },
    async applyFirst(configuration) {
      const report = await gateway.apply(configuration);
      logProblems(report);
      if (report.bindProblems.length > 0) {
        await abandon();
        throw new StartError(report.bindProblems.map(({ message }) => message).join('\n'));
      }
      readiness.pass();
    },
    async applyChange(configuration) {
      const report = await gateway.apply(configuration);
      for (const { bindKey, message } of report.bindProblems) log.error({ bindKey }, message);
      if (!report.changed) return report;
      logProblems(report);
      logInForce(report, configuration);
      return report;
    },
    async applyAny(configuration) {
      const report = await gateway.apply(configuration);
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

async function openOwnPorts(starters: readonly (() => Promise<PlainServer>)[]): Promise<PlainServer[]> {
  const servers: PlainServer[] = [];
  try {
    for (const start of starters) servers.push(await start());
    return servers;
  } catch (error) {
    await Promise.all(servers.map((server) => server.close()));
    if (error instanceof PortInUseError || error instanceof ListenFailedError)
      throw new StartError(error.message, { cause: error });
    throw error;
  }
}
