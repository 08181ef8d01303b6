// A listener that moves to another port: until the new port is open, the old one stays open and serves what the new one would.
import type { PortConfig } from '../config/runtime-config.ts';

/**
 * The port that a listener of a removed port moves to; undefined: the port is closed first. Ports of one number exclude each other whatever their
 * addresses, and so the old one has to go first.
 */
export function findSuccessor(removed: PortConfig, added: readonly PortConfig[]): PortConfig | undefined {
  const keys = new Set(removed.listeners.entries().map(([, { key }]) => key));
  return added.find(
    ({ protocol, port, listeners }) =>
      protocol === removed.protocol &&
      port !== removed.port &&
      listeners.entries().some(([, { key }]) => keys.has(key)),
  );
}

/** What the old port serves meanwhile: never the routes and policies of before. */
export function standIn({ bindKey, address, port }: PortConfig, successor: PortConfig): PortConfig {
  return { ...successor, bindKey, address, port };
}

/** "127.0.0.1 port 3000". */
export function formatPlace({ address, port }: Pick<PortConfig, 'address' | 'port'>): string {
  return address === '' ? `port ${port}` : `${address} port ${port}`;
}
