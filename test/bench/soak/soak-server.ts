// The MCP server of the soak: it opens sessions, answers calls, and has event streams. In this process.
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatAnswer } from '../nginx-upstream.ts';

export interface SoakServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startSoakServer(): Promise<SoakServer> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
        response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}\n\n');
        return;
      }
      const isFirst = Buffer.concat(chunks).includes('"initialize"');
      response.writeHead(request.method === 'DELETE' ? 204 : 200, {
        'content-type': 'application/json',
        ...(isFirst ? { 'mcp-session-id': randomUUID() } : {}),
      });
      response.end(request.method === 'DELETE' ? undefined : formatAnswer('second'));
    });
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
