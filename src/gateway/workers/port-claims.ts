// The ports of a gateway with workers. With SO_REUSEPORT any process of the same user can share a port, and the kernel would silently give it
// part of the connections. So a new port must be free for one moment, before the workers open it together.
import { createServer } from 'node:net';
import type { PortConfig } from '../config/runtime-config.ts';
import {
  type BindProblem,
  describeBindProblem,
  type Listeners,
  type ListenersOptions,
  nameStandIns,
} from '../listen/listeners.ts';
import { findSuccessor, standIn } from '../listen/port-successor.ts';

/** Replaces the listeners in a process whose workers have the ports. */
export function createPortClaims({ log }: Pick<ListenersOptions, 'log'>): Listeners {
  const claimed = new Map<string, PortConfig>();

  async function claim(config: PortConfig): Promise<BindProblem | undefined> {
    const { bindKey, address, port } = config;
    try {
      await bindForAMoment(config);
      claimed.set(bindKey, config);
      log.info({ bindKey, address, port }, 'port open');
      return undefined;
    } catch (error) {
      return describeBindProblem(config, error);
    }
  }

  return {
    async reconcile(ports) {
      const missing = [...ports.values()].filter(({ bindKey }) => !claimed.has(bindKey));
      const removed = [...claimed.values()].filter(({ bindKey }) => !ports.has(bindKey));
      const problems = (await Promise.all(missing.map((config) => claim(config)))).filter(
        (problem) => problem !== undefined,
      );
      const moving = new Map<string, PortConfig>();
      for (const config of removed) {
        const { bindKey } = config;
        const successor = findSuccessor(config, missing);
        if (successor !== undefined && !claimed.has(successor.bindKey)) {
          // The workers keep it open.
          moving.set(bindKey, successor);
          claimed.set(bindKey, standIn(config, successor));
          continue;
        }
        claimed.delete(bindKey);
        log.info({ bindKey }, 'port closed');
      }
      for (const [bindKey, config] of ports) if (claimed.has(bindKey)) claimed.set(bindKey, config);
      return problems.map((problem) => nameStandIns(problem, moving, (bindKey) => claimed.get(bindKey)));
    },
    addresses: () => new Map(),
    connectionCount: () => 0,
    stopAccepting: () => Promise.resolve(),
    sendClientsAway() {},
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
