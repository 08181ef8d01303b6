// A gateway cut down to listener and forwarder, with upstreams of all kinds: what the forward-*.test.ts files stand on.
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
} from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import type { BackendConfig, PortConfig } from '../../src/gateway/config/runtime-config.ts';
import type { ForwardPlan } from '../../src/gateway/forward/forward-plan.ts';
import { createForwarder } from '../../src/gateway/forward/forward-request.ts';
import type { ForwarderOptions } from '../../src/gateway/forward/forwarder-options.ts';
import { prepareRequestHeaders } from '../../src/gateway/http/headers.ts';
import type { NotificationStreams } from '../../src/gateway/mcp/streams/list-changed.ts';
import { Upstreams, type UpstreamsOptions } from '../../src/gateway/forward/upstream/upstreams.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import { createListeners } from '../../src/gateway/listen/listeners.ts';
import { startRequest, type RequestContext } from '../../src/gateway/request/request-context.ts';
import { HostTable } from '../../src/gateway/route/table/hostname.ts';

export type BackendOverrides = Partial<Omit<BackendConfig, 'endpoints'>>;

let fingerprints = 0;

/** A backend on loopback ports, with no time-outs but for connecting. */
export function backendOn(ports: readonly number[], overrides: BackendOverrides = {}): BackendConfig {
  return {
    key: 'default/upstream',
    fingerprint: String(++fingerprints),
    endpoints: ports.map((port) => ({ host: '127.0.0.1', port })),
    tls: undefined,
    protocol: 'http1',
    connectTimeoutMs: 5_000,
    requestTimeoutMs: 0,
    idleTimeoutMs: 0,
    hostHeader: '',
    mcp: undefined,
    picker: undefined,
    ...overrides,
  };
}

export interface GatewayOptions extends UpstreamsOptions {
  readonly backend: BackendConfig;
  /** Further ones, for mirrors. */
  readonly others?: readonly BackendConfig[];
  readonly plan?: (context: RequestContext) => Partial<ForwardPlan>;
  readonly legacySseKey?: Uint8Array;
  readonly streams?: NotificationStreams;
}

export interface FinishedRequest {
  readonly context: RequestContext;
  readonly clean: boolean;
}

export interface TestGateway {
  readonly port: number;
  readonly upstreams: Upstreams;
  readonly contexts: RequestContext[];
  /** The n-th request (from 0) has come to its end. */
  finished(index: number): Promise<FinishedRequest>;
  reconcile(backend: BackendConfig): void;
}

/** Starts one; the test stops it. */
export async function startForwardingGateway(t: TestContext, options: GatewayOptions): Promise<TestGateway> {
  const upstreams = new Upstreams(options);
  let { backend } = options;
  const reconcile = (next: BackendConfig): void => {
    backend = next;
    upstreams.reconcile(new Map([next, ...(options.others ?? [])].map((config) => [config.key, config])));
  };
  reconcile(backend);
  const forwarderOptions: ForwarderOptions = {
    upstreams,
    log: silentLog,
    ...(options.legacySseKey === undefined ? {} : { legacySseKey: options.legacySseKey }),
    ...(options.streams === undefined ? {} : { streams: options.streams }),
  };
  const forward = createForwarder(forwarderOptions);
  const contexts: RequestContext[] = [];
  const ends: PromiseWithResolvers<FinishedRequest>[] = [];
  const endOf = (index: number): PromiseWithResolvers<FinishedRequest> => (ends[index] ??= Promise.withResolvers());

  const listeners = createListeners({
    limits: defaultListenLimits,
    log: silentLog,
    handler: (exchange) => {
      const context = startRequest(exchange);
      const index = contexts.push(context) - 1;
      exchange.onClose((clean) => endOf(index).resolve({ context, clean }));
      const [path = '', query] = exchange.target.split('?', 2);
      context.path = path;
      context.query = query === undefined ? '' : `?${query}`;
      forward(context, {
        backend,
        method: exchange.method,
        target: exchange.target,
        publicPath: '/mcp',
        headers: prepareRequestHeaders({ ...describe(context), keepTeTrailers: backend.protocol === 'h2c' }),
        host: exchange.authority,
        responseHeaders: [],
        extraResponseHeaders: ['x-request-id', context.requestId],
        requestTimeoutMs: 0,
        backendRequestTimeoutMs: 0,
        session: undefined,
        mirrors: [],
        ...options.plan?.(context),
      });
    },
  });
  const port: PortConfig = {
    bindKey: '127.0.0.1|0',
    address: '127.0.0.1',
    port: 0,
    protocol: 'HTTP',
    listeners: new HostTable([]),
    selectCertificate: undefined,
  };
  await listeners.reconcile(new Map([[port.bindKey, port]]));
  t.after(async () => {
    upstreams.destroy();
    await listeners.drain({ timeoutMs: 0 });
  });
  return {
    port: listeners.addresses().get(port.bindKey)!.port,
    upstreams,
    contexts,
    finished: (index) => endOf(index).promise,
    reconcile,
  };
}

function describe(context: RequestContext): Parameters<typeof prepareRequestHeaders>[0] {
  const { exchange, requestId } = context;
  const { headers, remoteAddress, scheme, authority, localPort } = exchange;
  return { headers, remoteAddress, scheme, authority, localPort, requestId };
}

async function listenOnLoopback(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    if (server.listening) await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** An HTTP upstream. */
export async function startUpstream(
  t: TestContext,
  listener: RequestListener,
): Promise<{ port: number; server: ReturnType<typeof createHttpServer> }> {
  const server = createHttpServer(listener);
  // No test on a busy machine depends on how long a connection is kept.
  server.keepAliveTimeout = 60_000;
  return { server, port: await listenOnLoopback(t, server) };
}

/** An upstream that says what it wants. */
export async function startRawUpstream(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  return listenOnLoopback(t, createTcpServer({ allowHalfOpen: true }, onConnection));
}

/** A port on which nothing listens. */
export async function findClosedPort(): Promise<number> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends a request through node:http; the caller writes and ends it. */
export function openRequest(gateway: TestGateway, options: RequestOptions = {}): ClientRequest {
  const message = requestHttp({ host: '127.0.0.1', port: gateway.port, path: '/', agent: false, ...options });
  message.on('error', () => {});
  return message;
}

/** The head of the answer. */
export async function receiveResponse(message: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  return response;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: string[];
  readonly trailers: IncomingMessage['trailers'];
  readonly body: string;
}

/** A whole exchange. */
export async function fetchAnswer(gateway: TestGateway, options: RequestOptions = {}, body?: string): Promise<Answer> {
  const message = openRequest(gateway, options);
  if (body === undefined) message.end();
  else message.end(body);
  const response = await receiveResponse(message);
  const text = await readAll(response);
  return {
    status: response.statusCode!,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    trailers: response.trailers,
    body: text,
  };
}

export async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Reads a whole body and hands it over. */
export async function withBody(stream: AsyncIterable<Buffer>, use: (body: string) => void): Promise<void> {
  use(await readAll(stream));
}

/** The next chunk of a stream that must not be read ahead. */
export async function readChunk(stream: IncomingMessage | Socket): Promise<string> {
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) return chunk.toString();
    await once(stream, 'readable');
  }
}

/** Reads from a socket until the text has come. */
export async function readUntil(socket: Socket, text: string): Promise<string> {
  let received = '';
  while (!received.includes(text)) received += await readChunk(socket);
  return received;
}

export async function connectRaw(t: TestContext, port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}
