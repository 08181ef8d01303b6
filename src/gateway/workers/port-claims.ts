// The ports of a gateway with workers. With SO_REUSEPORT any process of the same user can share a port, and the kernel would silently give it
// part of the connections. So a new port must be free for one moment, before the workers open it together.
import { createServer } from 'node:net';
import type { PortConfig } from '../config/runtime-config.ts';
import { type BindProblem, describeBindProblem, type Listeners, type ListenersOptions } from '../listen/listeners.ts';

/** Replaces the listeners in a process whose workers have the ports. */
export function createPortClaims({ log }: Pick<ListenersOptions, 'log'>): Listeners {
  const claimed = new Set<string>();

  async function claim(config: PortConfig): Promise<BindProblem | undefined> {
    const { bindKey, address, port } = config;
    try {
      await bindForAMoment(config);
      claimed.add(bindKey);
      log.info({ bindKey, address, port }, 'port open');
      return undefined;
    } catch (error) {
      return describeBindProblem(config, error);
    }
  }

  return {
    async reconcile(ports) {
      for (const bindKey of claimed) {
        if (ports.has(bindKey)) continue;
        claimed.delete(bindKey);
        log.info({ bindKey }, 'port closed');
      }
      const missing = [...ports.values()].filter(({ bindKey }) => !claimed.has(bindKey));
      const problems = await Promise.all(missing.map((config) => claim(config)));
      return problems.filter((problem) => problem !== undefined);
    },
    addresses: () => new Map(),
    connectionCount: () => 0,
    stopAccepting: () => Promise.resolve(),
    drain: () => Promise.resolve(),
  };
}

function bindForAMoment({ address, port }: PortConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(address === '' ? { port } : { port, host: address }, () => server.close(() => resolve()));
  });
}
