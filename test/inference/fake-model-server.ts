// A model server for tests: POST /v1/chat/completions as OpenAI's API has it, over HTTP/1.1 or HTTP/2 in plaintext. Its answers say who served, and
// what arrived: length and hash of the body, and the headers. Tokens are streamed at a pace that a test decides.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What arrived, as the answer tells it. */
export interface Arrival {
  readonly served_by: string;
  readonly method: string;
  readonly url: string;
  readonly body_bytes: number;
  readonly body_sha256: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
}

/** One token as it is streamed. */
export interface TokenEvent {
  readonly token: number;
  /** Milliseconds since 1970, with fractions: when it was written. */
  readonly written_at: number;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;
export type ModelListener = (request: Request, response: Response) => void;

export interface ModelServerOptions {
  /** In its answers. Default: its endpoint. */
  readonly name?: string;
  readonly protocol?: 'http1' | 'h2c';
  readonly port?: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Resolves when the token may be written. Default: `interval_ms` of the request after the one before. */
  readonly pace?: (token: number) => Promise<void>;
}

export interface FakeModelServer {
  readonly port: number;
  /** `ip:port`: the endpoint as pickers name it. */
  readonly endpoint: string;
  readonly name: string;
  /** Requests so far. */
  readonly hits: number;
  /** Requests whose answer has not ended. */
  readonly openRequests: number;
  /** Requests whose connection or stream was cut before the answer had ended. */
  readonly cutRequests: number;
  pace: (token: number) => Promise<void>;
  /** Serves requests whose path (without the query) is this one. */
  handle(path: string, listener: ModelListener): void;
  /** It dies: the port is closed and every connection is cut. */
  close(): Promise<void>;
}

interface ChatRequest {
  readonly stream?: boolean;
  readonly max_tokens?: number;
  /** Not of the API: milliseconds between tokens. */
  readonly interval_ms?: number;
}

/** The clock of `written_at`, comparable between processes of one machine. */
export const readClock = (): number => performance.timeOrigin + performance.now();

/** Starts a model server on a free loopback port. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<FakeModelServer> {
  const listeners = new Map<string, ModelListener>();
  const sockets = new Set<Socket>();
  const state = { hits: 0, openRequests: 0, cutRequests: 0, name: options.name ?? '', pace: options.pace };
  const handle = (request: Request, response: Response): void => {
    state.hits += 1;
    state.openRequests += 1;
    request.on('error', () => {});
    response.on('error', () => {});
    response.once('close', () => {
      state.openRequests -= 1;
      if (!response.writableFinished) state.cutRequests += 1;
    });
    const path = request.url!.split('?', 1)[0]!;
    const listener = listeners.get(path);
    if (listener !== undefined) listener(request, response);
    // A client that leaves is none of the server's business.
    else void serve(path, request, response).catch(() => {});
  };

  async function serve(path: string, request: Request, response: Response): Promise<void> {
    const body = await readBody(request);
    const arrival: Arrival = {
      served_by: state.name,
      method: request.method!,
      url: request.url!,
      body_bytes: body.length,
      body_sha256: hashBody(body),
      headers: request.rawHeaders,
      trailers: request.rawTrailers,
    };
    if (request.method !== 'POST' || path !== '/v1/chat/completions') return sendJson(response, arrival);
    const chat = JSON.parse(body.toString()) as ChatRequest;
    if (chat.stream === true) await streamTokens(response, arrival, chat, state.pace);
    else sendJson(response, { ...arrival, choices: [{ message: { role: 'assistant', content: 'hello' } }] });
  }

  const server: Server =
    options.protocol === 'h2c'
      ? createHttp2Server({ settings: { maxConcurrentStreams: 4_096 } }, handle)
      : createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, handle);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('sessionError', () => {});
  const host = options.host ?? '127.0.0.1';
  server.listen({ port: options.port ?? 0, host, backlog: 4_096 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  if (state.name === '') state.name = endpoint;
  return {
    port,
    endpoint,
    get name() {
      return state.name;
    },
    get hits() {
      return state.hits;
    },
    get openRequests() {
      return state.openRequests;
    },
    get cutRequests() {
      return state.cutRequests;
    },
    get pace() {
      return state.pace ?? (() => Promise.resolve());
    },
    set pace(next) {
      state.pace = next;
    },
    handle: (path, listener) => void listeners.set(path, listener),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function readBody(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** As the answers have it. */
export function hashBody(body: Uint8Array | string): string {
  return createHash('sha256').update(body).digest('hex');
}

function sendJson(response: Response, value: object): void {
  response.setHeader('content-type', 'application/json');
  finish(response, JSON.stringify(value));
}

/** One event that says what arrived, one for each token, and the end mark of the API. */
async function streamTokens(
  response: Response,
  arrival: Arrival,
  { max_tokens: count = 8, interval_ms: interval = 0 }: ChatRequest,
  pace: ((token: number) => Promise<void>) | undefined,
): Promise<void> {
  (response as ServerResponse).writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  send(response, `data: ${JSON.stringify(arrival)}\n\n`);
  const startedAt = readClock();
  for (let token = 0; token < count && !response.destroyed; token += 1) {
    if (pace !== undefined) await pace(token);
    // By the time of the start, so that one late token does not delay all that follow.
    else if (interval > 0) await delay(Math.max(0, startedAt + (token + 1) * interval - readClock()));
    const event: TokenEvent = { token, written_at: readClock() };
    send(response, `data: ${JSON.stringify({ ...event, choices: [{ delta: { content: `t${token}` } }] })}\n\n`);
  }
  finish(response, 'data: [DONE]\n\n');
}

// The two kinds of response have no common signature of `write` and `end`.
function send(response: Response, text: string): void {
  (response as ServerResponse).write(text);
}

function finish(response: Response, text: string): void {
  (response as ServerResponse).end(text);
}
