// The metrics port: /metrics in the Prometheus text format.
import type { Log } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { type PlainServer, startPlainServer } from './plain-server.ts';

interface MetricsServerOptions {
  /** Default: 127.0.0.1. In a pod: 0.0.0.0, so that Prometheus reaches it. */
  readonly address?: string;
  readonly port: number;
  readonly metrics: Pick<Metrics, 'expose' | 'contentType'>;
  readonly log: Log;
}

/** Starts the metrics port. */
export function startMetricsServer(options: MetricsServerOptions): Promise<PlainServer> {
  const { metrics } = options;
  return startPlainServer({
    name: 'metrics',
    address: options.address ?? '127.0.0.1',
    port: options.port,
    portFlag: '--metrics-port',
    portEnv: 'MCP_GATEHOUSE_METRICS_PORT',
    pages: {
      '/metrics': {
        GET: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.expose() }),
      },
    },
    log: options.log,
    localOnly: false,
  });
}
