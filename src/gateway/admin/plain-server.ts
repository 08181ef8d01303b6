// A small HTTP server for the gateway's own pages (admin, metrics, readiness): a table of paths, JSON errors, nothing else.
// Client traffic never comes here; it has its own listeners.
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from '../../base/log.ts';
import { getHttp } from '../../base/node-parts.ts';
import { formatErrorBody } from '../request/answer.ts';
import { checkLocalRequest } from './local-request.ts';

export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly body: string;
}

export interface PlainAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer with status 200 that goes on until the client leaves, its reader is given up, or the server closes. */
export interface PlainStream {
  readonly contentType: string;
  /** Called when the head is on its way. What it returns is called once, when the stream is over. */
  readonly start: (outlet: StreamOutlet) => () => void;
}

/** Where a stream is written. */
export interface StreamOutlet {
  /** False: the reader does not keep up; `onDrain` says when it has. */
  write(text: string): boolean;
  onDrain(callback: () => void): void;
  /** Breaks the stream off, also when the reader takes nothing. */
  giveUp(): void;
}

/** Answers one method of one path. */
type PlainHandler = (request: PlainRequest) => PlainAnswer | PlainStream | Promise<PlainAnswer | PlainStream>;

/** Handlers by path, then by method. GET answers HEAD as well. A path that ends with `/*` stands for one more segment, whatever it is. */
export type PlainPages = Readonly<Record<string, Readonly<Record<string, PlainHandler>>>>;

interface PlainServerOptions {
  /** What it is for, in the log and in errors: "admin". */
  readonly name: string;
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  /** The flag and the variable that change the port, for the error about a port in use. */
  readonly portFlag: string;
  readonly portEnv: string;
  readonly pages: PlainPages;
  readonly log: Log;
  /** Refuse requests that a web page elsewhere made: a foreign Host (DNS rebinding) or Origin. */
  readonly localOnly: boolean;
  /** The answer in place of a page; undefined: the request may have it. */
  readonly check?: ((path: string, headers: IncomingHttpHeaders) => PlainAnswer | undefined) | undefined;
}

export interface PlainServer {
  /** http://address:port, with the port that was really bound. */
  readonly url: string;
  readonly port: number;
  /** Lets answers in progress end, for a moment, and stops. */
  close(): Promise<void>;
}

/** Another process uses the port. */
export class PortInUseError extends Error {
  readonly code = 'port_in_use';
  readonly port: number;

  constructor(options: Pick<PlainServerOptions, 'name' | 'address' | 'port' | 'portFlag' | 'portEnv'>, cause: unknown) {
    super(
      `port ${options.port} on ${describeAddress(options)} (${options.name}) is in use; choose another with ${options.portFlag} or ${options.portEnv}`,
      { cause },
    );
    this.name = 'PortInUseError';
    this.port = options.port;
  }
}

/** The address cannot be listened on for another reason. */
export class ListenFailedError extends Error {
  readonly code = 'listen_failed';

  constructor(options: Pick<PlainServerOptions, 'name' | 'address' | 'port'>, cause: NodeJS.ErrnoException) {
    super(`cannot listen on ${describeAddress(options)} port ${options.port} (${options.name}): ${cause.message}`, {
      cause,
    });
    this.name = 'ListenFailedError';
  }
}

function describeAddress({ address }: Pick<PlainServerOptions, 'address'>): string {
  return address === '' ? 'every interface' : address;
}

const maxBodyBytes = 4_096;
const closeAfterMs = 1_000;

/** Starts to listen; rejects with PortInUseError or ListenFailedError. */
export async function startPlainServer(options: PlainServerOptions): Promise<PlainServer> {
  const streams = new Set<ServerResponse>();
  const server = getHttp().createServer(
    { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 16_384 },
    (request, response) => void serve(request, response, options, streams),
  );
  server.maxConnections = 128;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const host = options.address.includes(':') ? `[${options.address}]` : options.address;
  return { url: `http://${host}:${port}`, port, close: () => close(server, streams) };
}

/** An answer with a JSON body, indented: people read it in a terminal. */
export function answerJson(value: unknown, status = 200): PlainAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, null, 2)}\n` };
}

/** An answer that says what was wrong, in the form of every error of this gateway. */
export function answerError(status: number, error: string, description: string): PlainAnswer {
  return { status, contentType: 'application/json', body: formatErrorBody(error, description, randomUUID()) };
}

function listen(server: Server, options: PlainServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(options, error) : new ListenFailedError(options, error));
    });
    server.listen({ host: options.address, port: options.port }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) =>
        options.log.warn({ err: error, server: options.name }, 'an internal server of the gateway reported an error'),
      );
      resolve();
    });
  });
}

function close(server: Server, streams: ReadonlySet<ServerResponse>): Promise<void> {
  return new Promise((resolve) => {
    for (const stream of streams) stream.end();
    const timer = setTimeout(() => server.closeAllConnections(), closeAfterMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: PlainServerOptions,
  streams: Set<ServerResponse>,
): Promise<void> {
  let answer: PlainAnswer | PlainStream;
  try {
    answer = await makeAnswer(request, options);
  } catch (error) {
    options.log.error({ err: error, server: options.name, path: request.url }, 'the gateway failed to serve a page');
    answer = answerError(500, 'internal_error', 'The gateway failed to make this page. Its log has the details.');
  }
  if (response.destroyed) return;
  // The unread rest of a refused body would be read as the next request.
  if (!request.complete) response.setHeader('connection', 'close');
  if ('start' in answer) return serveStream(request, response, answer, streams);
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(answer.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...answer.headers,
  });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}

function serveStream(
  request: IncomingMessage,
  response: ServerResponse,
  { contentType, start }: PlainStream,
  streams: Set<ServerResponse>,
): void {
  response.writeHead(200, {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  streams.add(response);
  const stop = start({
    write: (text) => response.write(text),
    onDrain: (callback) => void response.once('drain', callback),
    giveUp: () => void response.destroy(),
  });
  response.on('error', () => {});
  response.once('close', () => {
    streams.delete(response);
    stop();
  });
}

async function makeAnswer(request: IncomingMessage, options: PlainServerOptions): Promise<PlainAnswer | PlainStream> {
  if (options.localOnly) {
    const refused = checkLocalRequest(request);
    if (refused !== undefined) return answerError(403, refused.reason, refused.description);
  }
  const target = readTarget(request.url ?? '/');
  if (target === undefined) return answerError(400, 'bad_target', 'The request target is not a valid path.');
  const refusal = options.check?.(target.pathname, request.headers);
  if (refusal !== undefined) return refusal;
  const methods = findPage(options.pages, target.pathname);
  if (methods === undefined) {
    const known = Object.keys(options.pages).join(', ');
    return answerError(404, 'not_found', `This page does not exist. The pages are ${known}.`);
  }
  const method = request.method ?? 'GET';
  const name = method === 'HEAD' && !Object.hasOwn(methods, 'HEAD') ? 'GET' : method;
  const handler = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (handler === undefined) return refuseMethod(methods, target.pathname);
  const body = await readBody(request);
  if (body === undefined)
    return answerError(413, 'body_too_large', `The body must not be larger than ${maxBodyBytes} bytes.`);
  const { pathname: path, searchParams: query } = target;
  return handler({ method, path, query, accept: request.headers.accept ?? '', body });
}

function findPage(pages: PlainPages, path: string): PlainPages[string] | undefined {
  if (Object.hasOwn(pages, path)) return pages[path];
  const any = path.replace(/[^/]+$/, '*');
  return Object.hasOwn(pages, any) ? pages[any] : undefined;
}

function readTarget(url: string): URL | undefined {
  if (!url.startsWith('/')) return undefined;
  // The base is never seen: only path and query are used. A leading // would be read as a host.
  return URL.parse(`http://gateway.invalid${url}`) ?? undefined;
}

function refuseMethod(methods: Readonly<Record<string, PlainHandler>>, path: string): PlainAnswer {
  const names = Object.keys(methods);
  const allowed = names.includes('GET') ? [...names, 'HEAD'] : names;
  const answer = answerError(405, 'method_not_allowed', `${path} answers ${allowed.join(', ')} only.`);
  return { ...answer, headers: { allow: allowed.join(', ') } };
}

/** The body as text; undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
