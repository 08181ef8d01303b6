// Real MCP servers of either era with given tools, prompts and resources, for tests of a federation. Each can be killed and restarted at its
// port, can forget its sessions, and remembers what reached it.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node';
import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { StreamEventStore } from '../../src/demo/stream-event-store.ts';
import {
  createServerV1,
  createServerV2,
  type FederationContent,
  type FederationTool,
  type LegacyPeer,
} from './federation-content.ts';

export type { FederationContent, FederationTool, ToolContext } from './federation-content.ts';

/** What a server speaks: `legacy` SDK v1 with sessions, `modern` SDK v2 with 2026-07-28 only, `both` SDK v2, `sse` SDK v1 with the older HTTP+SSE transport. */
export type ServerEra = 'legacy' | 'modern' | 'both' | 'sse';

export interface FederationServerOptions extends FederationContent {
  readonly era: ServerEra;
  /** Answers of legacy servers as JSON instead of event streams. */
  readonly answersAsJson?: boolean;
  /** Events get ids. */
  readonly isResumable?: boolean;
  /** Of such a server: how long clients wait before they come back, in milliseconds. */
  readonly retryMs?: number;
  /** Where it listens; default: loopback. */
  readonly host?: string;
  /** Default: any free one. */
  readonly port?: number;
  /** Legacy servers without session ids. */
  readonly isStateless?: boolean;
}

/** One HTTP request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The method of the JSON-RPC message; undefined for answers and bodies that are none. */
  readonly rpcMethod: string | undefined;
}

export interface FederationServer {
  readonly name: string;
  readonly era: ServerEra;
  readonly port: number;
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Open sessions. */
  readonly sessionCount: number;
  /** Requests for this JSON-RPC method. */
  listRequests(rpcMethod: string): readonly ReceivedRequest[];
  forgetRequests(): void;
  /** Replaces the tools and tells all clients. */
  setTools(tools: readonly FederationTool[]): Promise<void>;
  /** Tells the clients that subscribed. */
  tellUpdated(uri: string): Promise<void>;
  /** Asks the client of each session; for legacy servers. */
  askClients(method: string, params: Record<string, unknown>): Promise<unknown[]>;
  /** All sessions are lost, as after a restart; the connections stay. */
  forgetSessions(): void;
  /** Breaks all connections; everything else stays. */
  breakConnections(): void;
  /** Breaks all connections; the port refuses new ones, and the sessions are lost. */
  kill(): Promise<void>;
  /** Listens on the same port again. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one. The path is `/mcp`, or `/sse` for the older transport. */
export async function startFederationServer(options: FederationServerOptions): Promise<FederationServer> {
  const server = new RunningServer(options);
  await server.listen(options.port ?? 0);
  return server;
}

/** Starts several, by name. */
export async function startFederationServers<Name extends string>(
  servers: Readonly<Record<Name, Omit<FederationServerOptions, 'name'>>>,
): Promise<Record<Name, FederationServer> & { closeAll(): Promise<void> }> {
  const started: FederationServer[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()));
  };
  try {
    for (const [name, options] of Object.entries<Omit<FederationServerOptions, 'name'>>(servers))
      started.push(await startFederationServer({ ...options, name }));
  } catch (error) {
    await closeAll();
    throw error;
  }
  const byName = Object.fromEntries(started.map((server) => [server.name, server]));
  return { ...(byName as Record<Name, FederationServer>), closeAll };
}

interface Session {
  readonly peer: LegacyPeer;
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
}

class RunningServer implements FederationServer {
  readonly #options: FederationServerOptions;
  #content: FederationContent;
  readonly #sessions = new Map<string, Session>();
  #modern: ReturnType<typeof createMcpHandler>;
  #requests: ReceivedRequest[] = [];
  #http: HttpServer | undefined;
  #port = 0;

  constructor(options: FederationServerOptions) {
    this.#options = options;
    this.#content = options;
    this.#modern = this.#createModern();
  }

  #createModern(): ReturnType<typeof createMcpHandler> {
    return createMcpHandler(() => createServerV2(this.#content, 'modern').server, { legacy: 'reject' });
  }

  get name(): string {
    return this.#options.name;
  }

  get era(): ServerEra {
    return this.#options.era;
  }

  get port(): number {
    return this.#port;
  }

  get #host(): string {
    return this.#options.host ?? '127.0.0.1';
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}${this.era === 'sse' ? '/sse' : '/mcp'}`;
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#requests;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  listRequests(rpcMethod: string): readonly ReceivedRequest[] {
    return this.#requests.filter((request) => request.rpcMethod === rpcMethod);
  }

  forgetRequests(): void {
    this.#requests = [];
  }

  async setTools(tools: readonly FederationTool[]): Promise<void> {
    this.#content = { ...this.#content, tools };
    this.#modern.notify.toolsChanged();
    for (const { peer } of this.#sessions.values()) {
      peer.setContent(this.#content);
      await peer.notify('notifications/tools/list_changed', {});
    }
  }

  async tellUpdated(uri: string): Promise<void> {
    this.#modern.notify.resourceUpdated(uri);
    for (const { peer } of this.#sessions.values())
      if (peer.subscriptions.has(uri)) await peer.notify('notifications/resources/updated', { uri });
  }

  askClients(method: string, params: Record<string, unknown>): Promise<unknown[]> {
    return Promise.all([...this.#sessions.values()].map(({ peer }) => peer.ask(method, params)));
  }

  forgetSessions(): void {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { peer } of sessions) void peer.close();
  }

  async listen(port: number): Promise<void> {
    const http = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else answer(response, 500, -32_603, String(error));
      });
    });
    this.#http = http;
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(port, this.#host, resolve);
    });
    this.#port = (http.address() as AddressInfo).port;
  }

  breakConnections(): void {
    this.#http?.closeAllConnections();
  }

  async kill(): Promise<void> {
    const http = this.#http;
    if (http === undefined) return;
    this.#http = undefined;
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    http.closeAllConnections();
    await closed;
    this.forgetSessions();
    const modern = this.#modern;
    this.#modern = this.#createModern();
    await modern.close();
  }

  restart(): Promise<void> {
    return this.listen(this.#port);
  }

  close(): Promise<void> {
    return this.kill();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request);
    const body = parse(text);
    const { method = '', url = '', headers } = request;
    this.#requests.push({ method, url, headers, body: text, rpcMethod: readMethod(body) });
    if (this.era === 'sse') return this.#serveSse(request, response, body);
    if (new URL(url, 'http://localhost').pathname !== '/mcp') return answer(response, 404, -32_000, 'Nothing is here.');
    if (this.era === 'legacy') return this.#serveLegacy(request, response, body);
    // The adapter's request type leaves no room for the `undefined` that node's own type allows for method and url.
    const incoming = request as NodeIncomingMessageLike;
    if (this.era === 'both' && (await isLegacyRequest(await toWebRequest(incoming, body), body)))
      return this.#serveLegacy(request, response, body);
    await toNodeHandler(this.#modern)(incoming, response, body);
  }

  async #serveLegacy(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    if (this.#options.isStateless === true) return (await this.#createSession()).handle(request, response, body);
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const session = this.#sessions.get(id);
      if (session === undefined) return answer(response, 404, -32_001, 'Session not found');
      await session.handle(request, response, body);
    } else if (isInitializeRequest(body)) {
      await (await this.#createSession()).handle(request, response, body);
    } else {
      answer(response, 400, -32_000, 'Bad Request: Server not initialized');
    }
  }

  async #createSession(): Promise<Session> {
    const { answersAsJson = false, isResumable = false, isStateless = false, retryMs, era } = this.#options;
    const created: { session?: Session } = {};
    const options = {
      ...(isStateless ? {} : { sessionIdGenerator: () => randomUUID() }),
      enableJsonResponse: answersAsJson,
      ...(isResumable ? { eventStore: new StreamEventStore() } : {}),
      ...(retryMs === undefined ? {} : { retryInterval: retryMs }),
      onsessioninitialized: (id: string) => void this.#sessions.set(id, created.session!),
      onsessionclosed: (id: string) => void this.#sessions.delete(id),
    };
    if (era === 'legacy') {
      const transport = new StreamableHTTPServerTransport(options);
      const peer = createServerV1(this.#content);
      await peer.connect(transport);
      created.session = {
        peer,
        handle: (request, response, body) => transport.handleRequest(request, response, body),
      };
    } else {
      const transport = new NodeStreamableHTTPServerTransport(options);
      const { server, peer } = createServerV2(this.#content, 'legacy');
      await server.connect(transport);
      created.session = {
        peer,
        handle: (request, response, body) => transport.handleRequest(request, response, body),
      };
    }
    return created.session;
  }

  async #serveSse(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response);
      const peer = createServerV1(this.#content);
      this.#sessions.set(transport.sessionId, {
        peer,
        handle: (posted, postAnswer, postBody) => transport.handlePostMessage(posted, postAnswer, postBody),
      });
      response.on('close', () => this.#sessions.delete(transport.sessionId));
      return peer.connect(transport);
    }
    const session = this.#sessions.get(url.searchParams.get('sessionId') ?? '');
    if (request.method !== 'POST' || url.pathname !== '/messages' || session === undefined)
      return answer(response, 404, -32_000, 'Nothing is here.');
    await session.handle(request, response, body);
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readMethod(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('method' in body)) return undefined;
  return typeof body.method === 'string' ? body.method : undefined;
}

function answer(response: ServerResponse, status: number, code: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}
