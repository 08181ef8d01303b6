// Time limits towards an upstream, as its message has them.
import { type ProxyBackend, usualTimeouts } from '../api/proxy-backend.ts';
import type { Upstream } from '../ir/gen/config_pb.ts';
import { convertToMilliseconds } from './milliseconds.ts';

type Timeouts = Pick<Upstream, 'connectTimeoutMs' | 'requestTimeoutMs' | 'idleTimeoutMs'>;

/** The limits of a ProxyBackend. */
export function convertTimeouts({ connect, request, idle }: ProxyBackend['spec']['mcp']['timeouts']): Timeouts {
  return {
    connectTimeoutMs: convertToMilliseconds(connect),
    requestTimeoutMs: convertToMilliseconds(request),
    idleTimeoutMs: convertToMilliseconds(idle),
  };
}

/** The default limits of a ProxyBackend, for Services, which cannot configure any. */
export const serviceTimeouts = convertTimeouts(usualTimeouts);
