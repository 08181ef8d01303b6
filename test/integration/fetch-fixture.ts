// Servers on loopback for the guarded fetcher, and names that resolve to wherever a test wants.
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { LookupAddresses } from '../../src/base/guarded-connector.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';

export interface TestServer {
  readonly port: number;
  /** Connections that were ever accepted. */
  readonly connections: () => number;
}

/** Trusted by nobody but tests that pass its certificate as `ca`. */
export const testAuthority = createAuthority('Private CA of the tests');

/** Starts an HTTP server that stops with the test. */
export function serveHttp(context: TestContext, listener: RequestListener): Promise<TestServer> {
  return start(context, createHttpServer(listener));
}

/** Starts an HTTPS server with a certificate of the test authority, or with one of its own. */
export function serveHttps(
  context: TestContext,
  listener: RequestListener,
  options: { readonly names?: readonly string[]; readonly isSelfSigned?: boolean } = {},
): Promise<TestServer> {
  const { cert, key } = createCertificate({
    names: options.names ?? ['localhost', '127.0.0.1', 'idp.example.com'],
    ...(options.isSelfSigned === true ? {} : { issuer: testAuthority }),
  });
  return start(context, createHttpsServer({ cert, key }, listener));
}

/** Starts a server that does what it likes with its connections. */
export function serveTcp(context: TestContext, listener: (socket: Socket) => void): Promise<TestServer> {
  return start(context, createTcpServer(listener));
}

async function start(context: TestContext, server: Server | TcpServer): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Resolves every name to the next list of addresses; the last one stays. Notes what was asked. */
export function createLookup(
  ...answers: readonly (readonly string[])[]
): LookupAddresses & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const lookup: LookupAddresses = (hostname) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return Object.assign(lookup, { asked });
}
