// Whether the server of `run --target` takes connections, asked once when the gateway serves: a developer who starts the gateway first should know.
import type { LocalGuard } from '../base/local-guard.ts';
import type { ServerConfig } from '../gateway/config/server-config.ts';
import { createConnector } from '../gateway/forward/upstream/endpoint-connector.ts';
import {
  classifyUpstreamError,
  describeConnectFailure,
  describeError,
} from '../gateway/forward/upstream/upstream-error.ts';
import { reasons } from '../gateway/http/reasons.ts';

const defaultTimeoutMs = 5_000;

/** Connects as the gateway does, and hangs up. One sentence when that fails; undefined: somebody answers. Never rejects. */
export function probeTarget(target: string, backend: ServerConfig, guard: LocalGuard): Promise<string | undefined> {
  const connectTimeoutMs = backend.connectTimeoutMs || defaultTimeoutMs;
  return new Promise((resolve) => {
    const [endpoint] = backend.endpoints;
    if (endpoint === undefined) {
      resolve(undefined);
      return;
    }
    const { tls } = backend;
    const connect = createConnector({
      ...endpoint,
      tls,
      guard,
      connectTimeoutMs,
      protocol: 'http/1.1',
      allowHalfOpen: false,
    });
    connect((error, socket) => {
      if (error === null) {
        socket.destroy();
        resolve(undefined);
        return;
      }
      const cause = describeConnectFailure(error);
      const why = cause === 'refused' ? 'connection refused' : describeError(error);
      const { status } = reasons[classifyUpstreamError(error, 'connecting')];
      resolve(`${target} does not answer yet (${why}); requests get ${status} until it does`);
    });
  });
}
