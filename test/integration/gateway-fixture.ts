// What the gateway-*.test.ts files stand on: upstreams whose answers a test decides, clients for both versions of HTTP, and the
// resources that a real gateway process is configured with.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  type Server,
} from 'node:http';
import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { request as requestHttps } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { GatewayRun } from '../kit/run-gateway.ts';

/** A thing that must be closed when the file or the test is done. */
export interface Closable {
  close(): Promise<void>;
}

/** Listens on a free loopback port, or on this one; closing it also cuts its connections. */
export async function listenOnLoopback(server: TcpServer, port = 0): Promise<Closable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', keep);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** What an upstream received, as it tells in its answer. */
export interface Echo {
  readonly upstream: string;
  readonly method: string;
  readonly url: string;
  readonly version: string;
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
  readonly body: string;
}

/** An HTTP/1.1 upstream: answers with an echo, except where a test says otherwise. */
export interface Upstream extends Closable {
  readonly port: number;
  readonly server: Server;
  /** Requests so far. */
  readonly hits: number;
  /** Serves requests whose path (without the query) is this one. */
  handle(path: string, listener: RequestListener): void;
}

/** Starts an upstream; the name is in its echoes. */
export async function startUpstream(name = 'upstream', port = 0): Promise<Upstream> {
  const listeners = new Map<string, RequestListener>();
  let hits = 0;
  const server = createServer((request, response) => {
    hits += 1;
    response.on('error', () => {});
    const listener = listeners.get(request.url!.split('?', 1)[0]!);
    if (listener === undefined) void answerEcho(name, request, (text) => response.end(text));
    else listener(request, response);
  });
  server.keepAliveTimeout = 60_000;
  const listening = await listenOnLoopback(server, port);
  return {
    ...listening,
    server,
    get hits() {
      return hits;
    },
    handle: (path, listener) => void listeners.set(path, listener),
  };
}

/** Reads the request to its end and hands over what it was. */
export async function answerEcho(
  name: string,
  request: IncomingMessage,
  answer: (text: string) => void,
): Promise<void> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    return;
  }
  const echo: Echo = {
    upstream: name,
    method: request.method!,
    url: request.url!,
    version: request.httpVersion,
    headers: request.rawHeaders,
    trailers: request.rawTrailers,
    body: Buffer.concat(chunks).toString(),
  };
  answer(JSON.stringify(echo));
}

/** An upstream that says what it wants. */
export function startRawUpstream(
  onConnection: (socket: Socket) => void,
): Promise<Closable & { readonly port: number }> {
  return listenOnLoopback(createTcpServer({ allowHalfOpen: true }, onConnection));
}

/** The values of a field, in wire order; names without regard to case. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === name.toLowerCase(),
  );
}

// ---- clients

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>;
  readonly informational: readonly number[];
  readonly body: string;
}

/** A request over HTTP/1.1 on a connection of its own; `tls` makes it HTTPS. */
export interface AskOptions extends RequestOptions {
  readonly tls?: ConnectionOptions;
}

/** Opens a request; the caller writes and ends it. */
export function openRequest(port: number, options: AskOptions = {}): ClientRequest {
  const { tls, ...others } = options;
  const all = { host: '127.0.0.1', port, agent: false as const, ...others };
  const message =
    tls === undefined
      ? requestHttp(all)
      : requestHttps({ rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], ...tls, ...all });
  message.on('error', () => {});
  return message;
}

/** The head of the answer; an error when there is none. */
export async function receiveResponse(message: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  return response;
}

/** A whole exchange over HTTP/1.1. */
export async function ask(port: number, options: AskOptions = {}, body?: string): Promise<Answer> {
  const message = openRequest(port, options);
  const informational: number[] = [];
  message.on('information', ({ statusCode }) => informational.push(statusCode));
  if (body === undefined) message.end();
  else message.end(body);
  const response = await receiveResponse(message);
  const text = await readText(response);
  return {
    status: response.statusCode!,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    trailers: { ...response.trailers },
    informational,
    body: text,
  };
}

/** Reads a stream to its end; rejects when it breaks off. */
export async function readText(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The echo in an answer that must be one. */
export function readEcho(answer: Answer): Echo {
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body) as Echo;
}

/** `502 upstream_unreachable`: status and reason of an answer that the gateway made. */
export function readError(answer: Pick<Answer, 'status' | 'headers' | 'body'>): string {
  assert.match(answer.body, /^\{/, `${answer.status} ${answer.body}`);
  const body = JSON.parse(answer.body) as Record<string, string>;
  assert.deepEqual(Object.keys(body), ['error', 'error_description', 'request_id']);
  assert.equal(answer.headers['x-request-id'], body['request_id']);
  assert.equal(answer.headers['content-type'], 'application/json');
  return `${answer.status} ${body['error']}`;
}

/** Opens an HTTP/2 connection: cleartext with prior knowledge, or TLS. */
export async function openSession(port: number, tls?: ConnectionOptions): Promise<ClientHttp2Session> {
  const session =
    tls === undefined
      ? connectHttp2(`http://127.0.0.1:${port}`)
      : connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...tls });
  session.on('error', () => {});
  await once(session, 'connect');
  return session;
}

/** The head of an HTTP/2 answer. */
export async function receiveHead(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & { ':status'?: number }> {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  return headers;
}

/** A whole exchange over HTTP/2. */
export async function askHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders | readonly string[],
  body?: string,
  trailers?: OutgoingHttpHeaders,
): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined, waitForTrailers: trailers !== undefined });
  stream.on('error', () => {});
  const informational: number[] = [];
  let received: Answer['trailers'] = {};
  stream.on('headers', (head: { ':status'?: number }) => informational.push(head[':status']!));
  // Without the symbol that node hides in it.
  stream.on('trailers', (fields: IncomingHttpHeaders) => (received = Object.fromEntries(Object.entries(fields))));
  stream.on('wantTrailers', () => stream.sendTrailers(trailers!));
  if (body !== undefined) stream.end(body);
  let rawHeaders: string[] = [];
  stream.on('response', (_headers, _flags, raw: string[]) => (rawHeaders = raw));
  const head = await receiveHead(stream);
  const text = await readText(stream);
  return {
    status: head[':status']!,
    headers: head,
    rawHeaders,
    trailers: received,
    informational,
    body: text,
  };
}

// ---- resources

interface ObjectOptions {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Any object of the kinds that the gateway reads. */
export function resource(
  apiVersion: string,
  kind: string,
  name: string,
  rest: object,
  options: ObjectOptions = {},
): object {
  return { apiVersion, kind, metadata: { name, ...options }, ...rest };
}

const gatewayApi = 'gateway.networking.k8s.io/v1';

/** A Gateway on loopback. */
export function gatewayOf(name: string, listeners: readonly object[], options: ObjectOptions = {}): object {
  const spec = { gatewayClassName: 'proxy', addresses: [{ value: '127.0.0.1' }], listeners };
  return resource(gatewayApi, 'Gateway', name, { spec }, options);
}

/** A Service with one endpoint on each of these loopback ports. */
export function serviceOf(
  name: string,
  ports: readonly number[],
  options: ObjectOptions & { readonly appProtocol?: string } = {},
): object[] {
  const { appProtocol, ...metadata } = options;
  const port = { port: 80, ...(appProtocol === undefined ? {} : { appProtocol }) };
  const slices = ports.map((endpoint) =>
    resource(
      'discovery.k8s.io/v1',
      'EndpointSlice',
      `${name}-${endpoint}`,
      { addressType: 'IPv4', endpoints: [{ addresses: ['127.0.0.1'] }], ports: [{ port: endpoint }] },
      { ...metadata, labels: { 'kubernetes.io/service-name': name } },
    ),
  );
  return [resource('v1', 'Service', name, { spec: { ports: [port] } }, metadata), ...slices];
}

/** A backendRef to such a Service. */
export function serviceRef(name: string, rest: object = {}): object {
  return { name, port: 80, ...rest };
}

/** A ProxyBackend whose one target is such a Service. */
export function mcpServiceOf(name: string, service: string, target: object = {}, mcp: object = {}): object {
  const backendRef = { name: service, port: 80, ...target };
  return resource('gateway.proxy/v1alpha1', 'ProxyBackend', name, {
    spec: { mcp: { targets: [{ name, backendRef }], ...mcp } },
  });
}

/** A rule for requests whose path has this prefix. */
export function rule(path: string, backendRefs: readonly object[], rest: object = {}): object {
  return { matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs, ...rest };
}

/** A TLS Secret. */
export function tlsSecretOf(name: string, certificate: string, key: string): object {
  return resource('v1', 'Secret', name, {
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  });
}

// ---- what the gateway tells

/** One line of the access log. */
export type AccessLine = Readonly<Record<string, string | number | boolean | undefined>>;

/** All lines of the access log so far. */
export function readAccessLog(gateway: GatewayRun): AccessLine[] {
  return gateway.readLog().filter(({ kind }) => kind === 'access') as AccessLine[];
}

/** Every series of a metric with its value, by its labels as written. */
export async function readSeries(gateway: GatewayRun, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^(\w+)(\{.*\})? (\S+)$/.exec(line);
    if (match !== null && match[1] === name) series.set(match[2] ?? '', Number(match[3]));
  }
  return series;
}
