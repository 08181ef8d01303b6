// An HTTP server, on loopback unless told otherwise, that remembers every request, and that a test can take down, hold still or slow down: the ground of the test identity providers.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** One request as it arrived, and what was answered. */
export interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** What has arrived of the body so far: all of it once `status` is known. */
  readonly body: string;
  /** The body as a form. */
  readonly form: URLSearchParams;
  /** Undefined while there is no answer. */
  readonly status: number | undefined;
}

/** The server and its switches. */
export interface SwitchableServer {
  readonly port: number;
  /** http://127.0.0.1:port, or what `listen` makes of it. */
  readonly origin: string;
  readonly calls: readonly RecordedCall[];
  callsTo(path: string): RecordedCall[];
  /** Forgets the calls so far. */
  forget(): void;
  /** From now on connections are cut before they can say anything; so are those that exist. */
  goDown(): void;
  comeUp(): void;
  /** Takes requests and answers none of them until `resume`. */
  pause(): void;
  resume(): void;
  /** How long every answer waits. */
  delayMs: number;
  close(): Promise<void>;
}

/** Answers a request. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Where a server listens, and as whom. */
export interface ListenOptions {
  /** An IPv4 address of this machine. Default 127.0.0.1. */
  readonly address?: string;
  /** PEM, for https. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** Starts it on a free port. `serve` gets a request once the switches let it through. */
export async function startSwitchableServer(
  createServe: (origin: string) => Serve,
  { address = '127.0.0.1', certificate }: ListenOptions = {},
): Promise<SwitchableServer> {
  let calls: RecordedCall[] = [];
  let down = false;
  let paused: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  let delayMs = 0;
  const sockets = new Set<Socket>();
  let serve: Serve | undefined;

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => {});
    calls.push(recordCall(request, response));
    const answer = async (): Promise<void> => {
      await paused?.promise;
      if (delayMs > 0) await delay(delayMs);
      if (response.destroyed) return;
      await serve!(request, response);
    };
    answer().catch((error: unknown) => {
      // A fault of the fixture itself must be seen by the test that meets it.
      if (!response.headersSent) response.writeHead(599, { 'content-type': 'text/plain' });
      response.end(`the test identity provider failed: ${error instanceof Error ? error.stack : String(error)}`);
    });
  };
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {});
    if (down) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `${certificate === undefined ? 'http' : 'https'}://${address}:${port}`;
  serve = createServe(origin);

  const resume = (): void => {
    paused?.resolve();
    paused = undefined;
  };
  return {
    port,
    origin,
    get calls() {
      return calls;
    },
    callsTo: (path) => calls.filter((call) => call.path === path),
    forget() {
      calls = [];
    },
    goDown() {
      down = true;
      for (const socket of sockets) socket.destroy();
    },
    comeUp() {
      down = false;
    },
    pause() {
      paused ??= Promise.withResolvers<void>();
    },
    resume,
    get delayMs() {
      return delayMs;
    },
    set delayMs(value) {
      delayMs = value;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
        resume();
      }),
  };
}

function recordCall(request: IncomingMessage, response: ServerResponse): RecordedCall {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://idp');
  const pieces: Buffer[] = [];
  // Whoever serves the request reads it as ever; the pieces are noted on their way in.
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk instanceof Uint8Array) pieces.push(Buffer.from(chunk));
    return push(chunk, encoding);
  };
  return {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    get body() {
      return Buffer.concat(pieces).toString('utf8');
    },
    get form() {
      return new URLSearchParams(Buffer.concat(pieces).toString('utf8'));
    },
    get status() {
      return response.headersSent ? response.statusCode : undefined;
    },
  };
}

/** Reads a whole body, for servers that do not care how long it is. */
export async function readWholeBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
