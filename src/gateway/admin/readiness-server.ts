// The readiness port: /ready says whether to send traffic here, /live only that the process still answers.
import type { Health } from '../../base/health.ts';
import type { Log } from '../../base/log.ts';
import { answerJson, type PlainServer, startPlainServer } from './plain-server.ts';

interface ReadinessServerOptions {
  /** Default: 127.0.0.1. In a pod: 0.0.0.0, so that the kubelet reaches it. */
  readonly address?: string;
  readonly port: number;
  readonly health: Health;
  readonly log: Log;
}

/** Starts the readiness port. */
export function startReadinessServer(options: ReadinessServerOptions): Promise<PlainServer> {
  const { health } = options;
  return startPlainServer({
    name: 'readiness',
    address: options.address ?? '127.0.0.1',
    port: options.port,
    portFlag: '--readiness-port',
    portEnv: 'MCP_GATEHOUSE_READINESS_PORT',
    pages: {
      '/ready': {
        GET: () => {
          const readiness = health.read();
          return answerJson(readiness, readiness.ready ? 200 : 503);
        },
      },
      '/live': { GET: () => answerJson({ live: true }) },
    },
    log: options.log,
    localOnly: false,
  });
}
