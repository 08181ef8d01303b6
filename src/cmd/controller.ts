// `mcp-gatehouse controller`: flags, log, own ports and signals around a replica of the controller (src/controller/start-controller.ts).
import { createHangup } from '../base/hangup.ts';
import { createHealth, type Health } from '../base/health.ts';
import { createLog, type RootLog } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { createShutdown, logCrashes } from '../base/shutdown.ts';
import { type RunningController, startController } from '../controller/start-controller.ts';
import { startMetricsServer } from '../gateway/admin/metrics-server.ts';
import {
  answerJson,
  ListenFailedError,
  type PlainServer,
  PortInUseError,
  startPlainServer,
} from '../gateway/admin/plain-server.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ConnectError, connectKubernetes } from '../kubernetes/connect.ts';
import { XdsListenError } from '../xds/grpc-port.ts';
import { defineCommand, fail, refuse } from './command.ts';
import { checkControllerFlags, controllerCommandFlags, type ControllerSettings } from './controller-flags.ts';
import { version } from '../base/version.ts';

/** Every interface, of both families where there are two. */
const everyInterface = '';

/** Runs until a signal ends the process. */
export const controllerCommand = defineCommand({
  ...controllerCommandFlags,
  async run(values, _, origins) {
    const checked = checkControllerFlags(values, origins);
    if (!checked.ok) return refuse(...checked.problems);
    try {
      await serve(checked.settings);
      return 0;
    } catch (error) {
      const isExpected =
        error instanceof ConnectError ||
        error instanceof XdsListenError ||
        error instanceof PortInUseError ||
        error instanceof ListenFailedError;
      if (!isExpected) throw error;
      return fail(1, error.message);
    }
  },
});

async function serve(settings: ControllerSettings): Promise<void> {
  const log = createLog({ level: settings.logLevel, format: settings.logFormat });
  logCrashes(log);
  const shutdown = createShutdown({ log });
  createHangup({ log, shutdown, otherwise: 'the controller follows the cluster by itself' });
  const metrics = createMetrics({ processMetrics: true });
  const health = createHealth();
  const running = health.addCheck('process', 'starting');
  const { kubeconfig, context } = settings;
  const name = 'mcp-gateway-controller';
  const client = await connectKubernetes({ log, env: process.env, kubeconfig, context, name });
  const servers = await openOwnPorts(settings, { log, metrics, health });
  let controller: RunningController;
  try {
    controller = await startController(describeController(settings, { client, log, metrics, health }));
  } catch (error) {
    await Promise.all(servers.map((server) => server.close()));
    await client.close();
    throw error;
  }
  running.pass();

  shutdown.addStep({ name: 'report not ready', timeoutMs: 1_000, run: () => running.fail('shutting down') });
  for (const step of controller.steps) shutdown.addStep(step);
  shutdown.addStep({
    name: 'close own ports',
    timeoutMs: 2_000,
    run: async () => void (await Promise.all([client.close(), ...servers.map((server) => server.close())])),
  });
  shutdown.addStep({ name: 'write the log', timeoutMs: 2_000, run: () => log.flush() });
  const ports = { xds: controller.xdsPort, health: servers[0]?.port, metrics: servers[1]?.port };
  log.info({ version, server: client.server, namespace: settings.namespace, ports }, 'the controller runs');
}

interface Surroundings {
  readonly log: RootLog;
  readonly metrics: Metrics;
  readonly health: Health;
}

async function openOwnPorts(
  settings: ControllerSettings,
  { log, metrics, health }: Surroundings,
): Promise<readonly PlainServer[]> {
  const healthServer = await startPlainServer({
    name: 'health',
    address: everyInterface,
    port: settings.healthPort,
    portFlag: '--health-port',
    portEnv: 'MCP_GATEHOUSE_HEALTH_PORT',
    pages: {
      '/healthz': { GET: () => answerJson({ live: true }) },
      '/readyz': {
        GET: () => {
          const readiness = health.read();
          return answerJson(readiness, readiness.ready ? 200 : 503);
        },
      },
    },
    log,
    localOnly: false,
  });
  try {
    const port = settings.metricsPort;
    return [healthServer, await startMetricsServer({ address: everyInterface, port, metrics, log })];
  } catch (error) {
    await healthServer.close();
    throw error;
  }
}

function describeController(
  settings: ControllerSettings,
  surroundings: Surroundings & { readonly client: KubernetesClient },
): Parameters<typeof startController>[0] {
  return {
    ...surroundings,
    version,
    installationNamespace: settings.namespace,
    serviceName: settings.serviceName,
    podName: settings.podName,
    podAddress: settings.podAddress,
    namespaceSelectors: settings.namespaceSelectors.map(({ matchLabels, matchExpressions }) => ({
      ...(matchLabels === undefined ? {} : { matchLabels }),
      ...(matchExpressions === undefined
        ? {}
        : { matchExpressions: matchExpressions.map(({ values = [], ...rest }) => ({ ...rest, values })) }),
    })),
    classParameters: settings.classParameters,
    inferenceExtension: settings.inferenceExtension,
    image: {
      registry: settings.imageRegistry,
      repository: settings.imageRepository,
      tag: settings.imageTag,
      digest: settings.imageDigest,
      pullPolicy: settings.imagePullPolicy,
    },
    imagePullSecrets: settings.imagePullSecrets,
    networkPolicy: settings.networkPolicy,
    secretsInNamespaces: settings.secretsInNamespaces,
    xds: {
      address: everyInterface,
      port: settings.xdsPort,
      tlsFolder: settings.xdsTls && !settings.xdsTlsGenerate ? settings.xdsTlsFolder : undefined,
      generateCertificate: settings.xdsTls && settings.xdsTlsGenerate,
      tokenFile: settings.xdsTokenFile,
      verifyPodAddress: settings.xdsVerifyPodAddress,
    },
  };
}
