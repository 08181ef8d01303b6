// The container of a gateway's pod: start, probes, security context and shutdown. The image needs no shell: the program drains by itself on SIGTERM.
import { parseDuration } from '../api/duration.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { chooseOwnPorts } from './container-ports.ts';
import type { DeploySettings } from './deploy-settings.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { renderStore } from './gateway-store.ts';
import { type Json, mergeValues } from './merge-values.ts';

/** The audience of the token that gateways authenticate with. */
const tokenAudience = 'proxy-xds';

const tokenFolder = '/var/run/secrets/mcp-gateway';
const caFolder = '/etc/mcp-gateway/controller-ca';
const snapshotFolder = '/var/lib/mcp-gateway';

const defaultDrain = '30s';
/**
 * The preStop delay in which a terminating pod serves on and stays ready: load balancers and nodes learn of its end one after the other, and if it is the
 * only pod, they use it until there is another.
 */
const preStopSeconds = 5;
/**
 * How long the program serves on after SIGTERM, not ready. A container may also be stopped inside a pod that stays: then only the readiness probe reports
 * it, after two to three seconds.
 */
const shutdownDelaySeconds = 5;
/** The time for everything besides draining: receiving the signal, closing sockets, writing the last log lines. */
const shutdownMarginSeconds = 10;

/** The termination grace period of the pod, in seconds. */
export function chooseGracePeriod({ shutdown }: MergedParameters): number {
  const drainSeconds = Math.ceil(parseDuration(shutdown?.drain ?? defaultDrain) / 1000);
  return preStopSeconds + shutdownDelaySeconds + drainSeconds + shutdownMarginSeconds;
}

/** registry/repository:tag, or with a pinned digest. */
function formatImage(image: MergedParameters['image'], { image: usual }: DeploySettings): string {
  const registry = image?.registry ?? usual.registry;
  const repository = image?.repository ?? usual.repository;
  const name = registry === '' ? repository : `${registry}/${repository}`;
  if (image?.digest !== undefined) return `${name}${image.tag === undefined ? '' : `:${image.tag}`}@${image.digest}`;
  if (image?.tag === undefined && usual.digest !== undefined) return `${name}@${usual.digest}`;
  return `${name}:${image?.tag ?? usual.tag}`;
}

/** The container. */
export function renderContainer(plan: GatewayPlan, parameters: MergedParameters, settings: DeploySettings): Json {
  const ports = chooseOwnPorts(plan.ports);
  return {
    name: 'gateway',
    image: formatImage(parameters.image, settings),
    imagePullPolicy: parameters.image?.pullPolicy ?? settings.image.pullPolicy,
    args: ['gateway'],
    env: renderEnvironment(plan, parameters, settings),
    // The ports of listeners are left out: another listener must not restart the pods.
    ports: [
      { name: 'metrics', containerPort: ports.metrics, protocol: 'TCP' },
      { name: 'readiness', containerPort: ports.readiness, protocol: 'TCP' },
    ],
    startupProbe: { ...probe('/live'), periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: { ...probe('/live'), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe('/ready'), periodSeconds: 1, failureThreshold: 2 },
    lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
    resources: mergeValues<Json>({ requests: { cpu: '100m', memory: '128Mi' } }, parameters.resources ?? {}),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      privileged: false,
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: 'token', mountPath: tokenFolder, readOnly: true },
      { name: 'snapshot', mountPath: snapshotFolder },
      ...(settings.xdsCa === undefined ? [] : [{ name: 'controller-ca', mountPath: caFolder, readOnly: true }]),
      ...renderStore(parameters.store?.redis).mounts,
    ],
  };
}

function probe(path: string): Json {
  return { httpGet: { path, port: 'readiness', scheme: 'HTTP' }, timeoutSeconds: 5 };
}

function renderEnvironment(plan: GatewayPlan, parameters: MergedParameters, settings: DeploySettings): readonly Json[] {
  const { env = [], logging, shutdown, trustedProxies = [], workers, allowLocalUpstreams } = parameters;
  const { maxStaleness, onStale } = parameters;
  const ports = chooseOwnPorts(plan.ports);
  const scheme = settings.xdsCa === undefined ? 'http' : 'https';
  const own: Record<string, string | undefined> = {
    MCP_GATEHOUSE_CONTROLLER: `${scheme}://${settings.xdsAddress}`,
    MCP_GATEHOUSE_CONTROLLER_CA: settings.xdsCa === undefined ? undefined : `${caFolder}/${caEntry}`,
    MCP_GATEHOUSE_CONTROLLER_TOKEN: `${tokenFolder}/token`,
    MCP_GATEHOUSE_GATEWAY: plan.name,
    MCP_GATEHOUSE_SNAPSHOT_FILE: `${snapshotFolder}/snapshot`,
    MCP_GATEHOUSE_OBSERVABILITY_ADDRESS: '0.0.0.0',
    MCP_GATEHOUSE_ADMIN_PORT: env.some(({ name }) => name === 'MCP_GATEHOUSE_ADMIN_PORT')
      ? undefined
      : `${ports.admin}`,
    MCP_GATEHOUSE_ADMIN_TOKEN_FILE: `${snapshotFolder}/admin-token`,
    MCP_GATEHOUSE_LOCAL_UPSTREAMS: allowLocalUpstreams === true ? undefined : 'false',
    MCP_GATEHOUSE_METRICS_PORT: `${ports.metrics}`,
    MCP_GATEHOUSE_READINESS_PORT: `${ports.readiness}`,
    MCP_GATEHOUSE_LOG_LEVEL: logging?.level ?? 'info',
    MCP_GATEHOUSE_LOG_FORMAT: logging?.format ?? 'json',
    MCP_GATEHOUSE_SHUTDOWN_DELAY: `${shutdownDelaySeconds}s`,
    MCP_GATEHOUSE_DRAIN_TIMEOUT: shutdown?.drain ?? defaultDrain,
    MCP_GATEHOUSE_MAX_STALENESS: maxStaleness,
    MCP_GATEHOUSE_ON_STALE: onStale?.toLowerCase(),
    MCP_GATEHOUSE_WORKERS: workers === undefined ? undefined : `${workers}`,
    MCP_GATEHOUSE_TRUSTED_PROXIES: trustedProxies.length === 0 ? undefined : trustedProxies.join(','),
    ...renderStore(parameters.store?.redis).environment,
  };
  return [
    { name: 'MCP_GATEHOUSE_NODE_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
    ...env,
  ];
}

/** The entry of the ConfigMap with the CA of the controller's certificate. */
export const caEntry = 'ca.crt';

/** The volumes that the container mounts. */
export function renderVolumes(
  configMapName: string,
  { store }: MergedParameters,
  settings: DeploySettings,
): readonly Json[] {
  return [
    {
      name: 'token',
      projected: {
        sources: [{ serviceAccountToken: { audience: tokenAudience, expirationSeconds: 3600, path: 'token' } }],
      },
    },
    // The snapshot holds private keys: it is kept in memory, never on a node's disk, and is deleted with the pod.
    { name: 'snapshot', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
    ...(settings.xdsCa === undefined
      ? []
      : [{ name: 'controller-ca', configMap: { name: configMapName, items: [{ key: caEntry, path: caEntry }] } }]),
    ...renderStore(store?.redis).volumes,
  ];
}
