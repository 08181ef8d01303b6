// A port that speaks HTTP/2 for gRPC: in plaintext with prior knowledge (RFC 9113, 3.3), or with TLS and the certificate at the moment of
// the handshake. Dead connections are found by pings, and closing is graceful.
import http2, { type Http2SecureServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import { keepAlive, type KeepAliveOptions } from './keep-alive.ts';
import type { CallOrigin } from './peer.ts';
import { StrangerDoor, type StrangerLimits } from './stranger-limits.ts';

/** PEM. The CA is only told to gateways. */
export interface XdsCertificate {
  readonly certificateChain: string;
  readonly privateKey: string;
}

/** The port cannot be opened. */
export class XdsListenError extends Error {
  readonly code = 'xds_listen';

  constructor(address: string, port: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`cannot listen on ${address === '' ? 'every interface' : address}, port ${port}: ${reason}`, { cause });
    this.name = 'XdsListenError';
  }
}

interface GrpcPortOptions {
  readonly log: Log;
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  readonly certificate: ReadonlyWatchable<XdsCertificate | undefined> | undefined;
  readonly keepAlive: KeepAliveOptions;
  readonly strangers: StrangerLimits;
  /** Handles each request, with the address of the peer. */
  readonly handle: (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse, origin: CallOrigin) => void;
}

interface GrpcPort {
  readonly port: number;
  /** Accepts no more connections and calls, waits briefly for calls to end, then closes the rest. */
  close(): Promise<void>;
}

const maxConnections = 4_096;
/** A gateway has two calls at a time, a replica one; more while it reconnects. */
const maxCallsPerConnection = 32;
const windowBytes = 1024 * 1024;
const handshakeTimeoutMs = 10_000;
/** The idle timeout of a connection without a call. */
const unusedTimeoutMs = 60_000;
/** The last responses, with the status in their trailers, need a moment to be written. */
const closeGraceMs = 1_000;

const settings: http2.ServerOptions = {
  settings: { maxConcurrentStreams: maxCallsPerConnection, initialWindowSize: windowBytes, enablePush: false },
  // In megabytes. The default, 10, is not enough for the configuration of a large cluster on its way.
  maxSessionMemory: 64,
};

/** Opens the port. Throws an XdsListenError. */
export async function openGrpcPort(options: GrpcPortOptions): Promise<GrpcPort> {
  const { log, certificate } = options;
  const server =
    certificate === undefined ? http2.createServer(settings) : createTlsServer(certificate, log.child({ port: 'xds' }));
  const door = new StrangerDoor(options.strangers, log);
  const origins = new WeakMap<http2.Http2Session, CallOrigin>();
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  server.maxConnections = maxConnections;

  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    door.admit(socket);
  });
  server.on('drop', (dropped) => door.noteDrop(dropped?.remoteAddress ?? ''));
  server.on('session', (session: ServerHttp2Session) => {
    const { remoteAddress, remotePort } = session.socket;
    const peerAddress = formatAddress(remoteAddress);
    origins.set(session, { peerAddress, trust: () => door.trust({ remoteAddress, remotePort }) });
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    closeWhenUnused(session);
    keepAlive(session, options.keepAlive, () => {
      log.info({ peerAddress }, 'closed a connection that does not answer pings');
      session.destroy();
    });
  });
  server.on('sessionError', (error: Error) => log.debug({ err: error }, 'an xDS connection failed'));
  server.on('request', (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
    const { session } = request.stream;
    const origin = session && origins.get(session);
    if (origin !== undefined) options.handle(request, response, origin);
  });

  await listen(server, options);
  server.on('error', (error) => log.error({ err: error }, 'the xDS port failed'));
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      door.close();
      return closeServer(server, sessions, sockets);
    },
  };
}

function createTlsServer(certificate: ReadonlyWatchable<XdsCertificate | undefined>, log: Log): Http2SecureServer {
  const server = http2.createSecureServer({
    ...settings,
    minVersion: 'TLSv1.2',
    allowHTTP1: false,
    handshakeTimeout: handshakeTimeoutMs,
  });
  const apply = (current: XdsCertificate | undefined): void => {
    // Without a certificate, handshakes fail with an alert.
    const pem = current && { cert: current.certificateChain, key: current.privateKey };
    try {
      server.setSecureContext({ ...pem, minVersion: 'TLSv1.2' });
    } catch (error) {
      log.error({ err: error }, 'the certificate of the xDS port cannot be used; the previous one stays in use');
    }
  };
  apply(certificate.get());
  const unsubscribe = certificate.subscribe(apply);
  server.once('close', unsubscribe);
  server.on('tlsClientError', (error, socket) => {
    log.debug({ err: error, peerAddress: socket.remoteAddress }, 'a TLS handshake on the xDS port failed');
    socket.destroy();
  });
  server.on('unknownProtocol', (socket) => socket.destroy());
  return server;
}

function closeWhenUnused(session: ServerHttp2Session): void {
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;
  const startTimer = (): void => void (timer = setTimeout(() => session.close(), unusedTimeoutMs).unref());
  startTimer();
  session.on('stream', (stream) => {
    calls += 1;
    clearTimeout(timer);
    stream.once('close', () => {
      calls -= 1;
      if (calls === 0 && !session.closed) startTimer();
    });
  });
  session.once('close', () => clearTimeout(timer));
}

function listen(server: Http2Server | Http2SecureServer, { address, port }: GrpcPortOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new XdsListenError(address, port, error)));
    server.listen({ port, ...(address === '' ? {} : { host: address }) }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

async function closeServer(
  server: Http2Server | Http2SecureServer,
  sessions: ReadonlySet<ServerHttp2Session>,
  sockets: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // GOAWAY: clients open no further calls here, and those that are open may end.
  for (const session of sessions) session.close();
  const grace = setTimeout(() => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  }, closeGraceMs);
  await closed;
  clearTimeout(grace);
}

/** IPv4-mapped addresses as IPv4, also on a dual-stack port. */
function formatAddress(address = ''): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
