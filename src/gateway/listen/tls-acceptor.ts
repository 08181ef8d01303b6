// TLS for one port (RFC 8446, RFC 5246): the certificate is chosen at each handshake by the server name the client sends (RFC 6066, 3),
// the protocol by ALPN (RFC 7301). Clients present a certificate where the listener requires one.
import type { Socket } from 'node:net';
import type { SecureContext, Server, TLSSocket } from 'node:tls';
import { getTls } from '../../base/node-parts.ts';
import type { ServerHandshake } from '../config/runtime-config.ts';
import { type ClientHello, readClientHello } from './client-hello.ts';
import { noteValidClient } from './connection-peer.ts';
import { endConnection } from './early-answer.ts';
import type { PortContext } from './port-context.ts';
import { peek } from './protocol-detection.ts';

/** A fatal alert record: handshake_failure (40) or unrecognized_name (112). */
const formatAlert = (description: 40 | 112): Buffer => Buffer.from([21, 3, 1, 0, 2, 2, description]);

/**
 * Node starts a connection with these. The public API can change some of them only from PEM and others not at all, but the gateway has
 * ready contexts: shared between ports, and another one for each server name.
 */
interface TlsServerInternals {
  _sharedCreds: SecureContext;
  requestCert: boolean;
  rejectUnauthorized: boolean;
}

interface Handshake {
  readonly socket: Socket;
  readonly serverName: string | undefined;
  readonly clientAuthorities: string | undefined;
}

/** TLS of one port. */
interface TlsAcceptor {
  /** Starts the handshake on a freshly accepted connection. */
  accept(socket: Socket): void;
}

/** Makes the acceptor; `onSecure` gets each connection whose handshake succeeded, with the socket it was accepted as. */
export function createTlsAcceptor(
  context: PortContext,
  onSecure: (accepted: Socket, secure: TLSSocket, protocol: 'http1' | 'http2') => void,
): TlsAcceptor {
  const { bindKey, limits, log } = context;
  const server: Server & Partial<TlsServerInternals> = getTls().createServer({
    ALPNProtocols: ['h2', 'http/1.1'],
    minVersion: 'TLSv1.2',
    handshakeTimeout: limits.headerTimeoutMs,
  });
  // Without a certificate, a handshake ends with an alert. For clients that do not speak TLS at all.
  const empty: ServerHandshake = {
    context: getTls().createSecureContext({ minVersion: 'TLSv1.2' }),
    asksClients: false,
    clientAuthorities: undefined,
  };
  // Node does not say which socket a TLS socket was made from.
  const handshakes = new Map<string, Handshake>();
  const report = (remoteAddress: string | undefined, detail: string): void => {
    log.debug({ bindKey, remoteAddress, detail }, 'TLS handshake failed');
    context.onEvent({ type: 'tls-handshake-failed', bindKey, detail });
  };

  server.on('tlsClientError', (error, secure) => {
    const problem = secure.authorizationError as Error | string | null | undefined;
    report(secure.remoteAddress, problem ? `the client's certificate is not valid: ${String(problem)}` : error.message);
    secure.destroy();
  });
  server.on('secureConnection', (secure) => {
    secure.on('error', () => {});
    const handshake = handshakes.get(formatPeer(secure));
    const name: unknown = secure.servername;
    const serverName = typeof name === 'string' && name !== '' ? name.toLowerCase() : undefined;
    // The certificate was chosen for the name that the gateway read; TLS must have read the same name.
    if (handshake === undefined || handshake.serverName !== serverName) {
      report(secure.remoteAddress, 'the server name is ambiguous');
      secure.destroy();
      return;
    }
    if (handshake.clientAuthorities !== undefined) {
      // Node should have ended such a connection already, but security must not depend on that.
      if (!secure.authorized) {
        secure.destroy();
        return;
      }
      noteValidClient(secure, handshake.clientAuthorities);
    }
    onSecure(handshake.socket, secure, secure.alpnProtocol === 'h2' ? 'http2' : 'http1');
  });

  const start = (
    socket: Socket,
    serverName: string | undefined,
    { context: secure, asksClients, clientAuthorities }: ServerHandshake,
  ): void => {
    const key = formatPeer(socket);
    handshakes.set(key, { socket, serverName, clientAuthorities });
    socket.once('close', () => handshakes.delete(key));
    // oxlint-disable-next-line no-underscore-dangle -- see TlsServerInternals
    server._sharedCreds = secure;
    server.requestCert = asksClients;
    server.rejectUnauthorized = clientAuthorities !== undefined;
    server.emit('connection', socket);
  };

  return {
    accept(socket) {
      peek(socket, limits.headerTimeoutMs, judgeHello, (outcome) => {
        if (typeof outcome === 'string') {
          if (outcome !== 'gone') report(socket.remoteAddress, 'the ClientHello did not arrive in time');
          socket.destroy();
          return;
        }
        if (outcome.verdict.kind === 'invalid') {
          start(socket, undefined, empty);
          return;
        }
        const { serverName } = outcome.verdict;
        // Read here and not when the port was opened: a changed Secret takes effect at the next handshake.
        const certificate = context.config.selectCertificate?.(serverName);
        if (certificate === undefined) {
          report(
            socket.remoteAddress,
            serverName === undefined ? 'no server name' : `unknown server name ${serverName}`,
          );
          endConnection(socket, formatAlert(serverName === undefined ? 40 : 112));
          return;
        }
        start(socket, serverName, certificate);
      });
    },
  };
}

function judgeHello(received: Buffer): Exclude<ClientHello, { kind: 'incomplete' }> | undefined {
  const hello = readClientHello(received);
  return hello.kind === 'incomplete' ? undefined : hello;
}

function formatPeer(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`;
}
