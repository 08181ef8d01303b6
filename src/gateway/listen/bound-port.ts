// One bound address and port: accepts connections, detects their protocol and hands them to its implementation.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { watchForSilentPeer } from '../../base/silent-peers.ts';
import { type ConnectionBudget, lingerPastBudget } from './connection-budget.ts';
import { destroyAfter, endConnection, formatEarlyAnswer, refuseRequest } from './early-answer.ts';
import type { Http1Server } from './http1-server.ts';
import { serveHttp2 } from './node-http2-connection.ts';
import type { ClientConnection, PortContext } from './port-context.ts';
import { detectHttpVersion, peek } from './protocol-detection.ts';
import { shareReadBuffer } from './accepted-socket.ts';
import { createTlsAcceptor } from './tls-acceptor.ts';

/** When a port is draining, a connection that has not begun a request (or its handshake) closes after this. */
const undecidedMs = 1_000;
/** A client that gets a GOAWAY before its first request sends none on this connection. While clients are sent away, it has this much time. */
const http2AwayMs = 1_000;
/** An aborted connection that is still open is destroyed after this. */
const abortGraceMs = 500;

/** One open port. */
export interface BoundPort {
  readonly address: AddressInfo;
  readonly connectionCount: number;
  /** Closes the listening socket; the address is free when it resolves. Connections stay. */
  stopAccepting(): Promise<void>;
  /** While true, every connection closes after its requests, as when draining, and new ones are still accepted. */
  sendClientsAway(isOn: boolean): void;
  /** Stops accepting, lets requests in progress end, and aborts the rest after the timeout. Resolves when the last connection is closed. */
  drain(timeoutMs: number): Promise<void>;
}

/** Binds and starts to accept; rejects with node's error when the address cannot be bound. */
export async function bindPort(context: PortContext, http1: Http1Server, budget: ConnectionBudget): Promise<BoundPort> {
  const connections = new Map<Socket, ClientConnection | undefined>();
  let draining = false;
  let sendsAway = false;
  let stopped: Promise<void> | undefined;
  const empty = Promise.withResolvers<void>();

  const adopt = (raw: Socket, connection: ClientConnection, awayAfterMs: number): void => {
    if (!connections.has(raw)) return;
    connections.set(raw, connection);
    if (draining || (sendsAway && awayAfterMs === 0)) connection.startDraining();
    else if (sendsAway)
      setTimeout(() => {
        if (sendsAway && connections.has(raw)) connection.startDraining();
      }, awayAfterMs).unref();
  };
  const closeUnlessDecided = (raw: Socket): void => {
    const timer = setTimeout(() => {
      if (connections.has(raw) && connections.get(raw) === undefined) raw.destroy();
    }, undecidedMs);
    raw.once('close', () => clearTimeout(timer));
  };
  const forget = (socket: Socket): void => {
    // A socket whose handle moved to another socket closes, too, but its connection goes on.
    if (!connections.delete(socket)) return;
    budget.giveBack();
    context.onEvent({ type: 'connection-closed', bindKey: context.bindKey });
    if (draining && connections.size === 0) empty.resolve();
  };
  const track = (socket: Socket): void => {
    connections.set(socket, undefined);
    socket.once('close', () => forget(socket));
  };
  const serve = (raw: Socket, socket: Socket, protocol: 'http1' | 'http2', received: number): void => {
    if (protocol === 'http2') {
      adopt(raw, serveHttp2(socket, context), http2AwayMs);
      return;
    }
    const first: unknown = raw === socket && received > 0 ? socket.read() : undefined;
    const shared = raw === socket ? shareReadBuffer(socket) : undefined;
    if (shared === undefined) {
      if (Buffer.isBuffer(first)) socket.unshift(first);
      adopt(raw, http1.accept(socket, context, received), 0);
      if (received > 0) socket.resume();
      return;
    }
    connections.delete(raw);
    shared.on('error', ignoreError);
    track(shared);
    const connection = http1.accept(shared, context, received);
    adopt(shared, connection, 0);
    if (Buffer.isBuffer(first)) connection.receiveFirst(first);
    shared.resume();
  };
  const acceptCleartext = (socket: Socket): void => {
    peek(socket, context.limits.headerTimeoutMs, detectHttpVersion, (outcome) => {
      if (typeof outcome === 'object') {
        serve(socket, socket, outcome.verdict, outcome.received);
      } else if (outcome === 'slow') {
        const answer = refuseRequest(context, socket.remoteAddress ?? '', 'header_timeout', 'incomplete first bytes');
        endConnection(socket, formatEarlyAnswer(answer));
      } else {
        // No request came, so there is nothing to answer.
        socket.destroy();
      }
    });
  };
  const tls =
    context.config.protocol === 'HTTPS'
      ? createTlsAcceptor(context, (accepted, secure, protocol) => serve(accepted, secure, protocol, 0))
      : undefined;

  const onConnection = (socket: Socket): void => {
    socket.on('error', ignoreError);
    if (!budget.take()) {
      const detail = `more than ${context.limits.maxConnections} connections`;
      const answer = refuseRequest(context, socket.remoteAddress ?? '', 'too_many_connections', detail);
      lingerPastBudget(budget, socket, tls === undefined ? formatEarlyAnswer(answer) : undefined);
      return;
    }
    track(socket);
    watchForSilentPeer(socket);
    context.onEvent({ type: 'connection-opened', bindKey: context.bindKey });
    if (draining) closeUnlessDecided(socket);
    if (tls === undefined) acceptCleartext(socket);
    else tls.accept(socket);
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  await listen(server, context);
  // A failing accept (out of file descriptors) costs that connection, not the process.
  server.on('error', (error) => {
    context.log.warn({ bindKey: context.bindKey, err: error }, 'cannot accept a connection');
  });
  const address = server.address() as AddressInfo;

  const closeServer = async (): Promise<void> => {
    // A full turn of the event loop for connections that the kernel has already accepted: closing now would reset them.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    server.close();
  };
  const stopAccepting = (): Promise<void> => {
    stopped ??= closeServer();
    return stopped;
  };

  return {
    address,
    get connectionCount() {
      return connections.size;
    },
    stopAccepting,
    sendClientsAway(isOn) {
      sendsAway = isOn;
      if (isOn) for (const connection of connections.values()) connection?.startDraining();
    },
    async drain(timeoutMs) {
      await stopAccepting();
      draining = true;
      for (const [socket, connection] of connections) {
        if (connection === undefined) closeUnlessDecided(socket);
        else connection.startDraining();
      }
      if (connections.size === 0) return;
      const timer = setTimeout(() => {
        for (const [socket, connection] of connections) {
          // An abort notifies the client where the protocol can; a client that does not react is cut.
          if (connection === undefined) {
            socket.destroy();
          } else {
            connection.abort();
            destroyAfter(socket, abortGraceMs);
          }
        }
      }, timeoutMs);
      await empty.promise;
      clearTimeout(timer);
    },
  };
}

/** The close event that follows a socket error is handled; the error itself adds nothing. */
function ignoreError(): void {}

/** Connections that may wait to be accepted while the process is busy; more are reset. The kernel has a limit of its own (net.core.somaxconn). */
const backlog = 4_096;

function listen(server: Server, { config: { address, port }, reusePort = false }: PortContext): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(address !== '' && { host: address }), reusePort, backlog }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
