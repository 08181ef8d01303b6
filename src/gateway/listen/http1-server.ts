// HTTP/1 on every port: turns accepted sockets into connections, and checks the timeouts of all of them with one timer.
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { Http1Connection } from './http1-connection.ts';
import type { ListenLimits } from './limits.ts';
import type { PortContext } from './port-context.ts';

/** HTTP/1, shared by all ports. */
export interface Http1Server {
  /** Takes over a socket. Bytes that were read before count as received, but the caller must pass them to the connection or put them back. */
  accept(socket: Socket, context: PortContext, alreadyReceived: number): Http1Connection;
  /** Stops the timer. The ports close their connections. */
  close(): void;
}

/** Starts the timer for all ports. */
export function createHttp1Server(limits: ListenLimits): Http1Server {
  const connections = new Set<Http1Connection>();
  const interval = Math.max(50, Math.min(1_000, Math.floor(limits.headerTimeoutMs / 4)));
  const clock = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.checkTime(now);
  }, interval);
  clock.unref();
  return {
    accept(socket, context, alreadyReceived) {
      const connection = new Http1Connection(socket, context, alreadyReceived);
      connections.add(connection);
      socket.once('close', () => connections.delete(connection));
      return connection;
    },
    close() {
      clearInterval(clock);
    },
  };
}
