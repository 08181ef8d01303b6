// The HTTP/1 parser of every port: one node:http server that never listens itself and gets its sockets handed over.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Reason } from '../reasons.ts';
import { readHttp1RequestHead } from './http1-request-head.ts';
import type { ListenLimits } from './limits.ts';
import { NodeHttp1Connection } from './node-http1-connection.ts';
import type { ClientConnection, PortContext } from './port-context.ts';

/** The parser, shared by all ports. */
export interface Http1Server {
  /** Takes over a socket; bytes that were read before must have been put back, and their number given. */
  accept(socket: Socket, context: PortContext, alreadyReceived: number): ClientConnection;
  /** Stops the timers. Connections are the ports' business. */
  close(): void;
}

/** Starts the parser for all ports. */
export function createHttp1Server(limits: ListenLimits): Http1Server {
  const connections = new WeakMap<object, NodeHttp1Connection>();
  const server = createServer({
    httpValidation: 'strict',
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headerTimeoutMs,
    // Uploads and streams may take as long as they take.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    keepAliveTimeoutBuffer: 0,
    connectionsCheckingInterval: Math.max(50, Math.min(1_000, Math.floor(limits.headerTimeoutMs / 4))),
    // Node's own answer to a missing Host has no body and no reason.
    requireHostHeader: false,
    optimizeEmptyRequests: true,
    // A switch of protocols behind requests that are still being answered is not worth its risks: Upgrade may be ignored.
    shouldUpgradeCallback: (request) =>
      connections.get(request.socket)?.idle === true && asksForUpgrade(request, limits.maxHeaderCount),
  });
  // We count ourselves: node calls too many fields an overflow of bytes (and older versions cut the list off silently).
  server.maxHeadersCount = 0;

  const receive = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    const connection = connections.get(request.socket);
    if (connection === undefined) request.socket.destroy();
    else connection.receive(request, response, expectsContinue);
  };
  server.on('request', (request, response) => receive(request, response, false));
  server.on('checkContinue', (request, response) => receive(request, response, true));
  // An expectation that we do not know is for the upstream to judge.
  server.on('checkExpectation', (request, response) => receive(request, response, false));
  const receiveUpgrade = (request: IncomingMessage, _stream: unknown, head: Buffer): void => {
    const connection = connections.get(request.socket);
    if (connection === undefined) request.socket.destroy();
    else connection.receiveUpgrade(request, head);
  };
  server.on('upgrade', receiveUpgrade);
  server.on('connect', receiveUpgrade);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.get(socket);
    // Bytes after a request with `Connection: close`: that request is answered, and they are ignored (RFC 9112, 9.6).
    if (connection !== undefined && error.code === 'HPE_CLOSED_CONNECTION') return;
    const refusal = explainClientError(error);
    if (connection === undefined || refusal === undefined) socket.destroy();
    else connection.fail(refusal, error.message);
  });
  // Node watches the header time-out only of servers that listen.
  server.emit('listening');

  return {
    accept(socket, context, alreadyReceived) {
      const connection = new NodeHttp1Connection(socket, context, alreadyReceived);
      connections.set(socket, connection);
      server.emit('connection', socket);
      return connection;
    },
    close() {
      server.close();
    },
  };
}

function asksForUpgrade(request: IncomingMessage, maxHeaderCount: number): boolean {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  const head = readHttp1RequestHead({ method, url, httpVersion, rawHeaders }, maxHeaderCount);
  return head.kind === 'accepted' && head.upgradeProtocol !== undefined;
}

/** Undefined: the connection itself broke, and nobody is there to read an answer. */
function explainClientError(error: NodeJS.ErrnoException): Reason | undefined {
  const code = error.code ?? '';
  if (code === 'HPE_INVALID_EOF_STATE') return undefined;
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'header_timeout';
  return code.startsWith('HPE_') ? 'bad_request' : undefined;
}
