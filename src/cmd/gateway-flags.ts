// Flags that every command with a gateway inside has: ports of its own, log, limits, drain.
import { availableParallelism } from 'node:os';
import { parseIpNetwork } from '../base/ip-network.ts';
import { createTrustedProxies, type TrustedProxies } from '../gateway/http/client-view.ts';
import { defaultUpstreamLimits, type UpstreamLimits } from '../gateway/forward/upstream/upstream-limits.ts';
import { defaultListenLimits, type ListenLimits } from '../gateway/listen/limits.ts';
import { defineFlags, type FlagValues } from './flags.ts';
import { logFlags } from './log-flags.ts';
import { readStoreFlags, storeFlags } from './store-flags.ts';

/** Also of commands that ask the admin port. */
export const adminTokenFileFlag = {
  type: 'string',
  default: '',
  env: 'MCP_GATEHOUSE_ADMIN_TOKEN_FILE',
  placeholder: 'PATH',
  help: 'File with the token that the admin port asks for, made when there is none; without it, no token is asked for',
} as const;

export const gatewayFlags = defineFlags({
  adminPort: {
    type: 'port',
    default: 15000,
    env: 'MCP_GATEHOUSE_ADMIN_PORT',
    help: 'Port of the admin pages, on loopback',
  },
  adminTokenFile: adminTokenFileFlag,
  metricsPort: { type: 'port', default: 15020, env: 'MCP_GATEHOUSE_METRICS_PORT', help: 'Port of /metrics' },
  readinessPort: {
    type: 'port',
    default: 15021,
    env: 'MCP_GATEHOUSE_READINESS_PORT',
    help: 'Port of /ready and /live',
  },
  observabilityAddress: {
    type: 'string',
    default: '127.0.0.1',
    env: 'MCP_GATEHOUSE_OBSERVABILITY_ADDRESS',
    placeholder: 'IP',
    help: 'Address of the metrics and readiness ports',
  },
  localUpstreams: {
    type: 'boolean',
    default: true,
    env: 'MCP_GATEHOUSE_LOCAL_UPSTREAMS',
    help: 'Connect to no server and no identity provider on loopback, link-local and metadata addresses',
  },
  ...storeFlags,
  ...logFlags,
  accessLog: { type: 'boolean', default: true, env: 'MCP_GATEHOUSE_ACCESS_LOG', help: 'Do not log a line per request' },
  workers: {
    type: 'string',
    default: '1',
    env: 'MCP_GATEHOUSE_WORKERS',
    placeholder: 'N|auto',
    help: 'Processes that share the ports for traffic; auto is one for each processor that there is. Limits are those of all together',
  },
  shutdownDelay: {
    type: 'duration',
    default: 0,
    max: 3_600_000,
    env: 'MCP_GATEHOUSE_SHUTDOWN_DELAY',
    help: 'How long to serve on after SIGTERM, not ready, until load balancers have noticed',
  },
  drainTimeout: {
    type: 'duration',
    default: 30_000,
    env: 'MCP_GATEHOUSE_DRAIN_TIMEOUT',
    help: 'How long open streams may go on after SIGTERM',
  },
  maxHeaderBytes: {
    type: 'bytes',
    default: defaultListenLimits.maxHeaderBytes,
    min: 1024,
    max: 1_048_576,
    env: 'MCP_GATEHOUSE_MAX_HEADER_BYTES',
    help: 'Size of a request head',
  },
  maxHeaderCount: {
    type: 'int',
    default: defaultListenLimits.maxHeaderCount,
    min: 8,
    max: 10_000,
    env: 'MCP_GATEHOUSE_MAX_HEADER_COUNT',
    help: 'Header fields of a request',
  },
  headerTimeout: {
    type: 'duration',
    default: defaultListenLimits.headerTimeoutMs,
    min: 100,
    env: 'MCP_GATEHOUSE_HEADER_TIMEOUT',
    help: 'Time for a complete request head',
  },
  idleTimeout: {
    type: 'duration',
    default: defaultListenLimits.idleTimeoutMs,
    min: 100,
    env: 'MCP_GATEHOUSE_IDLE_TIMEOUT',
    help: 'Silence on a client connection without a request',
  },
  maxConnections: {
    type: 'int',
    default: defaultListenLimits.maxConnections,
    min: 1,
    env: 'MCP_GATEHOUSE_MAX_CONNECTIONS',
    help: 'Client connections at once',
  },
  maxConcurrentStreams: {
    type: 'int',
    default: defaultListenLimits.maxConcurrentStreams,
    min: 1,
    env: 'MCP_GATEHOUSE_MAX_CONCURRENT_STREAMS',
    help: 'HTTP/2 streams at once on one connection',
  },
  maxUpstreamRequests: {
    type: 'int',
    default: defaultUpstreamLimits.maxConcurrentRequests,
    min: 1,
    env: 'MCP_GATEHOUSE_MAX_UPSTREAM_REQUESTS',
    help: 'Requests and streams at once to one endpoint',
  },
  maxWaitingRequests: {
    type: 'int',
    default: defaultUpstreamLimits.maxWaitingRequests,
    min: 0,
    env: 'MCP_GATEHOUSE_MAX_WAITING_REQUESTS',
    help: 'Requests that may wait for a place at one endpoint',
  },
  maxRetries: {
    type: 'int',
    default: defaultUpstreamLimits.maxRetries,
    min: 0,
    max: 10,
    env: 'MCP_GATEHOUSE_MAX_RETRIES',
    help: 'Further tries of a request that never reached its endpoint',
  },
  upstreamKeepAlive: {
    type: 'duration',
    default: defaultUpstreamLimits.keepAliveTimeoutMs,
    min: 100,
    env: 'MCP_GATEHOUSE_UPSTREAM_KEEP_ALIVE',
    help: 'How long an idle connection to an endpoint is kept, unless the endpoint says',
  },
  maxResponseHeaderBytes: {
    type: 'bytes',
    default: defaultUpstreamLimits.maxResponseHeaderBytes,
    min: 1024,
    max: 1_048_576,
    env: 'MCP_GATEHOUSE_MAX_RESPONSE_HEADER_BYTES',
    help: "Size of an endpoint's response head",
  },
  ejectAfterFailures: {
    type: 'int',
    default: defaultUpstreamLimits.ejectAfterFailures,
    min: 0,
    env: 'MCP_GATEHOUSE_EJECT_AFTER_FAILURES',
    former: { name: 'failures-before-set-aside', env: 'MCP_GATEWAY_FAILURES_BEFORE_SET_ASIDE' },
    help: 'Failed connections in a row until an endpoint is ejected; 0 never does',
  },
  ejectionTime: {
    type: 'duration',
    default: defaultUpstreamLimits.ejectionTimeMs,
    min: 1,
    env: 'MCP_GATEHOUSE_EJECTION_TIME',
    former: { name: 'set-aside', env: 'MCP_GATEWAY_SET_ASIDE' },
    help: 'How long an endpoint is ejected the first time; doubled each further time',
  },
  ejectionTimeMax: {
    type: 'duration',
    default: defaultUpstreamLimits.ejectionTimeMaxMs,
    min: 1,
    env: 'MCP_GATEHOUSE_EJECTION_TIME_MAX',
    former: { name: 'set-aside-max', env: 'MCP_GATEWAY_SET_ASIDE_MAX' },
    help: 'The longest time an endpoint is ejected',
  },
  mirrorBuffer: {
    type: 'bytes',
    default: defaultUpstreamLimits.mirrorBufferBytes,
    min: 0,
    env: 'MCP_GATEHOUSE_MIRROR_BUFFER',
    help: 'Bytes of a request that may wait for a slow mirror before the copy is given up',
  },
  trustedProxies: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_TRUSTED_PROXIES',
    placeholder: 'CIDR',
    help: 'Proxies in front of the gateway whose X-Forwarded-* are believed, as networks such as 10.0.0.0/8',
  },
});

type GatewayFlagValues = FlagValues<typeof gatewayFlags>;

/** The flags about clients, as the listeners take them. */
export function readListenLimits(values: GatewayFlagValues): ListenLimits {
  return {
    maxHeaderBytes: values.maxHeaderBytes,
    maxHeaderCount: values.maxHeaderCount,
    headerTimeoutMs: values.headerTimeout,
    idleTimeoutMs: values.idleTimeout,
    maxConnections: values.maxConnections,
    maxConcurrentStreams: values.maxConcurrentStreams,
  };
}

/** How many processes serve, or what is wrong with the flags. */
type ReadWorkers = { readonly ok: true; readonly workers: number } | { readonly ok: false; readonly problem: string };

const maxWorkers = 64;
/** Where the kernel spreads connections over the sockets of one port. */
const sharingPlatforms: ReadonlySet<string> = new Set(['linux', 'freebsd', 'sunos', 'aix']);

/** The flags about addresses of this machine that backends must not name. */
export function readLocalGuard(
  values: Pick<GatewayFlagValues, 'adminPort' | 'metricsPort' | 'readinessPort' | 'localUpstreams'>,
): { readonly ownPorts: number[]; readonly allowsLocal: boolean } {
  const { adminPort, metricsPort, readinessPort, localUpstreams } = values;
  return { ownPorts: [adminPort, metricsPort, readinessPort], allowsLocal: localUpstreams };
}

/** Reads --workers. */
export function readWorkers({
  workers,
  maxConnections,
}: Pick<GatewayFlagValues, 'workers' | 'maxConnections'>): ReadWorkers {
  const canShare = sharingPlatforms.has(process.platform);
  const count =
    workers === 'auto'
      ? Math.min(canShare ? availableParallelism() : 1, maxWorkers)
      : /^[1-9]\d?$/.test(workers)
        ? Number(workers)
        : Number.NaN;
  if (!(count <= maxWorkers)) {
    const problem = `--workers must be auto or a whole number between 1 and ${maxWorkers}, not ${JSON.stringify(workers)}`;
    return { ok: false, problem };
  }
  if (count > 1 && !canShare)
    return { ok: false, problem: '--workers needs a system on which processes can share a port, such as Linux' };
  if (count > maxConnections)
    return { ok: false, problem: '--max-connections must not be less than --workers: each of them gets its share' };
  return { ok: true, workers: count };
}

/** The networks of trusted proxies, or what is wrong with the flag. */
type ReadTrustedProxies =
  | { readonly ok: true; readonly trustedProxies: TrustedProxies | undefined }
  | { readonly ok: false; readonly problem: string };

/** Reads --trusted-proxies; a flag may have several, as the variable does. */
export function readTrustedProxies({ trustedProxies }: Pick<GatewayFlagValues, 'trustedProxies'>): ReadTrustedProxies {
  const networks = [];
  for (const text of trustedProxies.flatMap((each) => each.split(','))) {
    const network = parseIpNetwork(text.trim());
    if (network === undefined)
      return {
        ok: false,
        problem: `--trusted-proxies must be networks such as 10.0.0.0/8 or 2001:db8::/32, or single addresses, not ${JSON.stringify(text.trim())}`,
      };
    networks.push(network);
  }
  return { ok: true, trustedProxies: networks.length === 0 ? undefined : createTrustedProxies(networks) };
}

/** What is wrong with these flags that their types cannot tell, one line each. */
export function findGatewayFlagProblems(values: GatewayFlagValues): string[] {
  const store = readStoreFlags(values);
  return [
    ...[readTrustedProxies(values), readWorkers(values)].flatMap((read) => (read.ok ? [] : [read.problem])),
    ...(store.ok ? [] : store.problems),
  ];
}

/** The flags about endpoints, as the upstream pools take them. */
export function readUpstreamLimits(values: GatewayFlagValues): UpstreamLimits {
  return {
    ...defaultUpstreamLimits,
    maxConcurrentRequests: values.maxUpstreamRequests,
    maxWaitingRequests: values.maxWaitingRequests,
    maxRetries: values.maxRetries,
    keepAliveTimeoutMs: values.upstreamKeepAlive,
    maxResponseHeaderBytes: values.maxResponseHeaderBytes,
    ejectAfterFailures: values.ejectAfterFailures,
    ejectionTimeMs: values.ejectionTime,
    ejectionTimeMaxMs: values.ejectionTimeMax,
    mirrorBufferBytes: values.mirrorBuffer,
  };
}
