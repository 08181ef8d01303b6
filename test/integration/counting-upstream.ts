// An upstream with two habits: it answers POST at once, and on GET it sends numbered events for as long as the client stays.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CountingUpstream {
  readonly port: number;
  /** Sends the next event on every open stream. */
  tick(): void;
  readonly openStreams: number;
  close(): Promise<void>;
}

/** Starts the upstream on a free loopback port. Answers wait `delayMs` first, so that some are always in flight. */
export async function startCountingUpstream({ delayMs = 0 } = {}): Promise<CountingUpstream> {
  const streams = new Map<ServerResponse, number>();
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: 0\ndata: 0\n\n');
      streams.set(response, 0);
      response.on('close', () => streams.delete(response));
      return;
    }
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      const answer = (): void =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ bytes }));
      if (delayMs === 0) answer();
      else setTimeout(answer, delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    tick() {
      for (const [response, count] of streams) {
        streams.set(response, count + 1);
        response.write(`id: ${count + 1}\ndata: ${count + 1}\n\n`);
      }
    },
    get openStreams() {
      return streams.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
