// `mcp-gatehouse worker`: one of the processes that serve the traffic of a gateway. It listens and forwards; everything else it is told by the process that
// started it, and it ends with that.
import { createLocalGuard } from '../../base/local-guard.ts';
import { createLog, silentLog } from '../../base/log.ts';
import { createMetrics } from '../../base/metrics.ts';
import { releaseMemoryWhenQuiet } from '../../base/release-memory.ts';
import { logCrashes } from '../../base/shutdown.ts';
import { parseIpNetwork } from '../../base/ip-network.ts';
import { accessLogKind, createAccessLog, formatAccessText } from '../../gateway/observe/access-log.ts';
import { createTrustedProxies } from '../../gateway/http/client-view.ts';
import { createGateway, type Gateway } from '../../gateway/gateway.ts';
import { createListeners, type Listeners, type ListenersOptions } from '../../gateway/listen/listeners.ts';
import { bodyBudget } from '../../gateway/http/body-budget.ts';
import { LiveRequests } from '../../gateway/observe/live-requests.ts';
import { createRequestJournal } from '../../gateway/observe/request-journal.ts';
import { createGatewayMetrics } from '../../gateway/observe/request-metrics.ts';
import { startTracing } from '../../gateway/observe/tracing.ts';
import { CallChannel } from '../../gateway/workers/call-channel.ts';
import { ConfigurationReceiver } from '../../gateway/workers/configuration-relay.ts';
import { FlowRelay } from '../../gateway/workers/flow-relay.ts';
import { MirroredSources } from '../../gateway/workers/mirrored-sources.ts';
import { keepQuiet } from '../../gateway/workers/quiet-log.ts';
import { createRemoteLogins } from '../../gateway/workers/remote-logins.ts';
import type { SupervisorCalls, WorkerCalls, WorkerSettings } from '../../gateway/workers/worker-calls.ts';
import { type CommandEnd, defineCommand, fail } from '../command.ts';
import { requireEgressProxy } from '../egress.ts';
import { openStore } from '../../store/open-store.ts';
import { version } from '../../base/version.ts';

/** What a worker consists of once it knows its settings. */
interface StartedWorker {
  readonly gateway: Gateway;
  /** Ends the process in order. */
  end(timeoutMs: number): Promise<void>;
}

export const workerCommand = defineCommand({
  name: 'worker',
  usage: '',
  summary: 'Serves traffic for the process that starts it: mcp-gatehouse run --workers. It serves nothing by itself.',
  flags: {},
  run: serveForSupervisor,
});

/** Serves until the process that started it says otherwise, or is gone. */
async function serveForSupervisor(): Promise<CommandEnd> {
  if (process.send === undefined || !process.connected)
    return fail(2, 'it is started by mcp-gatehouse run --workers, and serves nothing by itself');
  // A terminal, or systemd, sends signals to all processes. Only the one that started this knows what they mean.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

  const registry = createMetrics({ processMetrics: true });
  const journal = createRequestJournal();
  const live = new LiveRequests();
  const receiver = new ConfigurationReceiver();
  const started = Promise.withResolvers<StartedWorker>();
  let blocked: ReadonlySet<string> = new Set();
  let unwatch: (() => void) | undefined;
  let setLevel: WorkerCalls['setLogLevel'] = () => {};

  const calls: WorkerCalls = {
    async start(settings) {
      try {
        started.resolve(await startWorker(settings));
      } catch (error) {
        started.reject(error);
      }
      await started.promise;
    },
    takeKeys: (news) => sources.takeKeys(news),
    takeMetadata: (news) => sources.takeMetadata(news),
    async apply({ blockedPorts, ...sent }) {
      const { gateway } = await started.promise;
      blocked = new Set(blockedPorts);
      const { problems, bindProblems } = await gateway.apply(receiver.read(sent));
      return { problems, bindProblems };
    },
    watchFlow: (agent) => flows.watch(agent),
    setLogLevel: (level) => setLevel(level),
    readMetrics: () => registry.expose(),
    listRequests: () => journal.list(),
    async listEndpoints() {
      return (await started.promise).gateway.listEndpoints();
    },
    async listFederations() {
      return (await started.promise).gateway.listFederations();
    },
    watchRequests(isWatched) {
      unwatch?.();
      unwatch = isWatched ? live.watch((batch) => channel.tell('tellRequests', batch)) : undefined;
    },
    async setStale(state) {
      (await started.promise).gateway.setStale(state);
    },
    async stopAccepting() {
      await (await started.promise).gateway.stopAccepting();
    },
    async drain(timeoutMs) {
      await (await started.promise).end(timeoutMs);
    },
  };
  const channel = new CallChannel<SupervisorCalls, WorkerCalls>(
    { send: (message) => void process.send?.(message, undefined, {}, () => {}) },
    calls,
  );
  const flows = new FlowRelay((step) => channel.tell('tellFlow', step));
  const sources = new MirroredSources(channel, (id) => createRemoteLogins(channel, id));
  const ended = Promise.withResolvers<number>();
  process.on('message', (message) => channel.receive(message));

  async function startWorker(settings: WorkerSettings): Promise<StartedWorker> {
    const root = createLog({
      level: settings.logLevel,
      format: settings.logFormat,
      textFormatters: { [accessLogKind]: formatAccessText },
      isShared: true,
    });
    const log = root.child({ worker: settings.number });
    setLevel = (level) => root.setLevel(level);
    if (root.isText && settings.accessLog) live.lookForLog();
    logCrashes(log);
    releaseMemoryWhenQuiet();
    bodyBudget.limit(settings.maxHeldBytes);
    const metrics = createGatewayMetrics(registry, version);
    const tracing = await startTracing(process.env, log, version);
    // The process that started this one has looked whether it can be used, and says when it does not answer.
    const opened = await openStore(settings.store, { log: silentLog, startsAnyway: true });
    if (!opened.ok) throw new Error(`--store: ${opened.problem}`);
    const { store } = opened;
    const networks = settings.trustedProxies
      .flatMap((each) => each.split(','))
      .map((text) => parseIpNetwork(text.trim())!);
    const gateway = createGateway({
      log,
      flows,
      journal,
      live,
      listenLimits: settings.listenLimits,
      upstreamLimits: settings.upstreamLimits,
      metrics: metrics.requests,
      connectionMetrics: metrics.connections,
      upstreamMetrics: metrics.upstreams,
      configMetrics: { applied() {}, rejected() {}, setProblems() {} },
      accessLog: settings.accessLog ? createAccessLog(root) : undefined,
      trustedProxies: networks.length === 0 ? undefined : createTrustedProxies(networks),
      tracing,
      guard: createLocalGuard(settings.localGuard),
      egress: requireEgressProxy(process.env),
      idps: sources,
      legacySseKey: settings.legacySseKey,
      acceptsTestIssuers: settings.acceptsTestIssuers,
      store,
      openListeners: (options) => openSharedListeners(options, () => blocked),
    });
    let ending: Promise<void> | undefined;
    const end = async (timeoutMs: number): Promise<void> => {
      await gateway.drain(timeoutMs);
      await store.close();
      await tracing?.stop(4_000);
      channel.tell('sayGoodbye', await registry.expose());
      await root.flush();
      ended.resolve(0);
    };
    const endOnce = (timeoutMs: number): Promise<void> => (ending ??= end(timeoutMs));
    process.on('disconnect', () => {
      channel.close();
      if (ending === undefined) log.warn({}, 'the process that started this worker is gone; it ends too');
      void endOnce(settings.drainTimeoutMs);
    });
    return { gateway, end: endOnce };
  }

  const code = await ended.promise;
  // What was said last is on its way when the channel closes in order.
  if (process.connected) process.disconnect?.();
  setImmediate(() => process.exit(code));
  return code;
}

/** Listeners that share their ports with the other workers, and leave alone what belongs to somebody else. */
function openSharedListeners(options: ListenersOptions, getBlocked: () => ReadonlySet<string>): Listeners {
  const isBlocked = (bindKey: string): boolean => getBlocked().has(bindKey);
  return createListeners({ ...options, log: keepQuiet(options.log), reusePort: true, isBlocked });
}
