// Serves an MCP server over Streamable HTTP: sessions and resumable streams for the protocol versions up to 2025-11-25,
// and self-contained requests for 2026-07-28, at one URL.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type McpRequestContext,
  type McpServer,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { StreamEventStore } from './stream-event-store.ts';

/** What an MCP host needs to know. */
interface McpHostOptions {
  /** The address to listen on. On a loopback address, foreign Host and Origin headers are refused (DNS rebinding). */
  readonly host: string;
  /** The port to listen on; 0 takes any free one. */
  readonly port: number;
  /** The path of the MCP endpoint. */
  readonly path?: string;
  /** Makes the MCP server for one session, or for one request of protocol version 2026-07-28. */
  readonly createServer: (context: McpRequestContext) => McpServer;
  /** Milliseconds that a client should wait before it resumes a stream that the server closed. */
  readonly retryInterval?: number;
  /** Hears of errors that no client is told about. */
  readonly onError?: (error: Error) => void;
}

/** A running MCP endpoint. */
export interface McpHost {
  /** The URL of the MCP endpoint. */
  readonly url: string;
  /** Tells subscribed clients of protocol version 2026-07-28 about changes. */
  readonly notify: ServerNotifier;
  /** How many sessions are open. */
  countSessions(): number;
  /** Ends every session and stream, and stops listening. */
  close(): Promise<void>;
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly server: McpServer;
}

const maximumSessions = 1_000;
const maximumBodyBytes = 4 * 1024 * 1024;

/** Starts an MCP endpoint and resolves once it accepts connections. */
export async function hostMcpServer(options: McpHostOptions): Promise<McpHost> {
  const path = options.path ?? '/mcp';
  const sessions = new Map<string, Session>();
  const modern = createMcpHandler(options.createServer, {
    legacy: 'reject',
    ...(options.onError === undefined ? {} : { onerror: options.onError }),
  });
  const guards = isLoopback(options.host) ? [localhostHostValidation(), localhostOriginValidation()] : [];

  const listener = createServer((request, response) => {
    if (!guards.every((allows) => allows(request, response))) return;
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== path) {
      answerError(response, 404, -32_000, `There is nothing here. The MCP endpoint is at ${path}.`);
      return;
    }
    serve({ request, response, sessions, modern, options }).catch((error: unknown) => {
      options.onError?.(error instanceof Error ? error : new Error(String(error)));
      if (response.headersSent) response.destroy();
      else answerError(response, 500, -32_603, 'The server could not handle this request.');
    });
  });
  await listen(listener, options);
  const address = listener.address() as AddressInfo;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;

  return {
    url: `http://${host}:${address.port}${path}`,
    notify: modern.notify,
    countSessions: () => sessions.size,
    async close() {
      await modern.close();
      await Promise.all([...sessions.values()].map((session) => session.server.close()));
      sessions.clear();
      listener.closeAllConnections();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly sessions: Map<string, Session>;
  readonly modern: McpHttpHandler;
  readonly options: McpHostOptions;
}

async function serve(exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  let body: unknown;
  if (request.method === 'POST') {
    const read = await readJson(request);
    if (read.kind === 'refused') {
      answerError(response, read.status, read.code, read.message);
      return;
    }
    body = read.value;
  }
  // The adapter's request type leaves no room for the `undefined` that node's own type allows for method and url.
  const incoming = request as NodeIncomingMessageLike;
  if (await isLegacyRequest(await toWebRequest(incoming, body), body)) await serveSession(exchange, body);
  else await toNodeHandler(exchange.modern)(incoming, response, body);
}

async function serveSession(exchange: Exchange, body: unknown): Promise<void> {
  const { request, response, sessions } = exchange;
  const id = request.headers['mcp-session-id'];
  if (typeof id === 'string') {
    const session = sessions.get(id);
    if (session === undefined) {
      answerError(response, 404, -32_001, 'This session has ended. Start a new one with initialize.');
      return;
    }
    // Moving it to the end keeps the map in the order of last use, so that the first entry is the one to drop.
    sessions.delete(id);
    sessions.set(id, session);
    await session.transport.handleRequest(request, response, body);
    return;
  }
  if (!isInitializeRequest(body)) {
    answerError(response, 400, -32_000, 'Start a session with initialize, then send its Mcp-Session-Id.');
    return;
  }
  await startSession(exchange, body);
}

async function startSession({ request, response, sessions, options }: Exchange, body: unknown): Promise<void> {
  const server = options.createServer({ era: 'legacy' });
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: new StreamEventStore(),
    ...(options.retryInterval === undefined ? {} : { retryInterval: options.retryInterval }),
    onsessioninitialized: async (id) => {
      sessions.set(id, { transport, server });
      const [oldest] = sessions.keys();
      if (sessions.size <= maximumSessions || oldest === undefined) return;
      const dropped = sessions.get(oldest);
      sessions.delete(oldest);
      await dropped?.server.close();
    },
    onsessionclosed: (id) => {
      sessions.delete(id);
    },
  });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- an MCP server is no event target
  if (options.onError !== undefined) server.server.onerror = options.onError;
  await server.connect(transport);
  await transport.handleRequest(request, response, body);
}

type ReadJson =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly status: number; readonly code: number; readonly message: string };

function readJson(request: IncomingMessage): Promise<ReadJson> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maximumBodyBytes) {
        chunks.push(chunk);
        return;
      }
      // The rest is read and dropped, so that the answer is not lost in a connection that breaks under the sender.
      chunks.length = 0;
      resolve({ kind: 'refused', status: 413, code: -32_000, message: 'A message may have at most 4 MiB.' });
    });
    request.on('error', reject);
    request.on('end', () => {
      try {
        resolve({ kind: 'read', value: JSON.parse(Buffer.concat(chunks).toString('utf8')) });
      } catch {
        resolve({ kind: 'refused', status: 400, code: -32_700, message: 'The body is not JSON.' });
      }
    });
  });
}

function answerError(response: ServerResponse, status: number, code: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function listen(server: Server, { host, port }: McpHostOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
