// An OTLP/gRPC trace receiver for tests: takes everything, and says how often it was called and with what.
import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** The receiver. */
export interface GrpcCollector {
  readonly url: string;
  /** Resolves with the path of the first call, once all of it has arrived. */
  readonly called: Promise<string>;
  close(): void;
}

const emptyMessage = Buffer.alloc(5);

/** Starts it. */
export async function startGrpcCollector(): Promise<GrpcCollector> {
  const { promise: called, resolve } = Promise.withResolvers<string>();
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.resume().on('end', () => {
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(emptyMessage);
      resolve(headers[':path'] ?? '');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    called,
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
