// A target whose server begins as its era does, and then follows a script: what no real server does.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { BackendConfig } from '../../src/gateway/config/runtime-config.ts';
import type { Target } from '../../src/gateway/mcp/federation/target.ts';
import { connectTo } from './federation-target-fixture.ts';

export interface Scripted {
  readonly target: Target;
  /** Messages that arrived, but for those of the beginning. */
  readonly received: { readonly method?: string; readonly id?: unknown; readonly params?: unknown }[];
  /** HTTP methods. */
  readonly https: string[];
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

type Script = (message: Message, response: ServerResponse, request: IncomingMessage) => void;

const initialized = {
  protocolVersion: '2025-11-25',
  serverInfo: { name: 'scripted', version: '1' },
};
const discovered = { supportedVersions: ['2026-07-28'], resultType: 'complete' };

/** A server that begins as its era does, and then follows the script. */
export async function script(
  t: TestContext,
  era: 'legacy' | 'modern',
  run: Script,
  backend: Partial<BackendConfig> = {},
  capabilities: object = { tools: {} },
): Promise<Scripted> {
  const received: Scripted['received'] = [];
  const https: string[] = [];
  let sessions = 0;
  const server = createServer((request, response) => {
    https.push(request.method!);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const message = (body === '' ? {} : JSON.parse(body)) as Message;
      if (message.method === 'server/discover' && era === 'modern')
        return sendJson(response, answerTo(message, { ...discovered, capabilities }));
      if (message.method === 'server/discover') return sendJson(response, { error: 'what?' }, 400);
      if (message.method === 'initialize' && era === 'legacy') {
        sessions += 1;
        response.setHeader('mcp-session-id', `s-${sessions}`);
        return sendJson(response, answerTo(message, { ...initialized, capabilities }));
      }
      if (message.method === 'notifications/initialized') return void response.writeHead(202).end();
      received.push(message);
      run(message, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connected = connectTo({ ports: [(server.address() as AddressInfo).port], backend });
  t.after(async () => {
    await connected.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { target: connected.target, received, https };
}

export function answerTo({ id }: Message, result: object): object {
  return { jsonrpc: '2.0', id, result };
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}

export function writeEvent(response: ServerResponse, value: unknown, id?: string): void {
  response.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`);
}
