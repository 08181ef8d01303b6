// HTTP/1 on every port: makes connections of accepted sockets, and has one clock for the time-outs of all of them.
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { Http1Connection } from './http1-connection.ts';
import type { ListenLimits } from './limits.ts';
import type { PortContext } from './port-context.ts';

/** HTTP/1, shared by all ports. */
export interface Http1Server {
  /** Takes over a socket. The bytes that were read before count as received now, but have to be told to the connection, or put back. */
  accept(socket: Socket, context: PortContext, alreadyReceived: number): Http1Connection;
  /** Stops the clock. Connections are the ports' business. */
  close(): void;
}

/** Starts the clock for all ports. */
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
