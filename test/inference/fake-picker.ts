// An endpoint picker for tests: Envoy's external processing service over gRPC, in plaintext or with TLS. What it does with a request is a script;
// what it was told, and which streams and connections are open, it remembers.
import { once } from 'node:events';
import http2, {
  type Http2Server,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import {
  ExternalProcessor,
  type ProcessingRequest,
  type ProcessingResponse,
} from '../../src/ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import type { TestCertificate } from '../self-signed-certificate.ts';
import { waitFor } from '../kit/wait-for.ts';

/** What a picker does with one stream. When it returns the stream ends well; a ConnectError ends it with that status. */
export type PickerScript = (call: PickerCall) => Promise<void>;

/** One stream: one request of a client. */
export class PickerCall {
  /** Everything that the gateway said, in order. */
  readonly received: ProcessingRequest[] = [];
  /** Resolves when the stream is over, however it ended. */
  readonly over: Promise<void>;
  /** How the gateway ended its side: it closed it, broke the stream off, or has not yet. */
  outcome: 'open' | 'closed' | 'cut' = 'open';
  readonly #messages: AsyncIterator<ProcessingRequest>;
  readonly #keeps: boolean;
  readonly #answers: ProcessingResponse[] = [];
  /** Wakes whoever waits for answers, or for them to be taken. */
  #wakers: (() => void)[] = [];
  #isClosed = false;
  #headers: ReadonlyMap<string, string> | undefined;

  constructor(messages: AsyncIterable<ProcessingRequest>, signal: AbortSignal, over: Promise<void>, keeps: boolean) {
    this.#messages = messages[Symbol.asyncIterator]();
    this.over = over;
    this.#keeps = keeps;
    // Also when the call ended well: then nobody reads the answers any more.
    signal.addEventListener('abort', () => this.#close());
  }

  #close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakers.splice(0)) wake();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#wakers.push(resolve));
  }

  /** The next message of the gateway; undefined when it has no more to say. Rejects when it broke the stream off. */
  async next(): Promise<ProcessingRequest | undefined> {
    let result: IteratorResult<ProcessingRequest>;
    try {
      result = await this.#messages.next();
    } catch (error) {
      this.outcome = 'cut';
      throw error;
    }
    if (result.done === true) {
      this.outcome = 'closed';
      return undefined;
    }
    const message = result.value;
    if (this.#keeps) this.received.push(message);
    if (message.request.case === 'requestHeaders') this.#headers = readFields(message);
    return message;
  }

  /** Reads on until there is one of this kind. */
  async nextOf<C extends RequestCase>(kind: C): Promise<RequestOf<C>> {
    for (;;) {
      const message = await this.next();
      if (message === undefined) throw new Error(`the gateway ended its side without ${kind}`);
      if (message.request.case === kind) return message.request.value as RequestOf<C>;
    }
  }

  /** Until the gateway has nothing more to say, or breaks off. */
  async drain(): Promise<void> {
    try {
      while ((await this.next()) !== undefined);
    } catch {
      // The gateway broke off: `outcome` has it.
    }
  }

  /** Resolves when so many messages of the gateway were read. */
  async heard(count: number): Promise<void> {
    await waitFor(() => this.received.length >= count, { intervalMs: 0 });
  }

  send(...answers: readonly ProcessingResponse[]): void {
    this.#answers.push(...answers);
    this.#wake();
  }

  /** Resolves when the connection has taken what was sent: whoever waits for it does not read faster than it is read. */
  async sent(): Promise<void> {
    while (this.#answers.length > 0 && !this.#isClosed) await this.#change();
  }

  /** The request headers, by name, with the pseudo headers; known once the first message was read. */
  get headers(): ReadonlyMap<string, string> {
    return this.#headers ?? new Map();
  }

  /** Runs the script and hands its answers out. */
  async *answer(script: PickerScript): AsyncGenerator<ProcessingResponse, void> {
    let failure: { readonly error: unknown } | undefined;
    let isDone = false;
    script(this).then(
      () => {
        isDone = true;
        this.#wake();
      },
      (error: unknown) => {
        failure = { error };
        isDone = true;
        this.#wake();
      },
    );
    while (!this.#isClosed) {
      const [answer] = this.#answers;
      if (answer !== undefined) {
        // It is written when the next one is asked for.
        yield answer;
        this.#answers.shift();
        this.#wake();
      } else if (isDone) break;
      else await this.#change();
    }
    if (failure !== undefined) throw failure.error;
  }
}

type RequestCase = NonNullable<ProcessingRequest['request']['case']>;
type RequestOf<C extends RequestCase> = Extract<ProcessingRequest['request'], { readonly case: C }>['value'];

/** Header fields of a message as text. */
export function readFields(message: ProcessingRequest): Map<string, string> {
  const { request } = message;
  if (request.case !== 'requestHeaders' && request.case !== 'responseHeaders') return new Map();
  const fields = request.value.headers?.headers ?? [];
  return new Map(fields.map(({ key, value, rawValue }) => [key, rawValue.length > 0 ? decode(rawValue) : value]));
}

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

export interface FakePickerOptions {
  readonly script: PickerScript;
  readonly port?: number;
  /** Serves TLS with it. */
  readonly certificate?: TestCertificate;
  /** Streams at once on one connection, as it announces. */
  readonly maxConcurrentStreams?: number;
  /** Bytes that all streams of a connection together may have on the way to it. Default: that of HTTP/2, 64 KiB. */
  readonly connectionWindow?: number;
  /** Remembers the messages of every call. Default: true; false for thousands of large ones. */
  readonly keeps?: boolean;
  /** Takes a stream in place of gRPC: for answers that are none. */
  readonly raw?: (stream: ServerHttp2Stream) => void;
}

export interface FakePicker {
  readonly port: number;
  /** Of every stream, in the order in which they were opened. */
  readonly calls: readonly PickerCall[];
  /** Streams that are open now. */
  readonly openStreams: number;
  /** Connections that are open now. */
  readonly openSessions: number;
  /** Connections so far. */
  readonly sessionsSeen: number;
  /** For the streams that come from now on. */
  script: PickerScript;
  /** The n-th call (from 0), as soon as there is one. */
  call(index: number): Promise<PickerCall>;
  /** It dies: the port is closed and every connection is cut. */
  close(): Promise<void>;
}

/** Starts a picker on a free loopback port. */
export async function startFakePicker(options: FakePickerOptions): Promise<FakePicker> {
  const calls: PickerCall[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const state = { openStreams: 0, openSessions: 0, sessionsSeen: 0 };
  let { script } = options;

  const adapter = connectNodeAdapter({
    grpcWeb: false,
    connect: false,
    routes: (router) =>
      router.service(ExternalProcessor, {
        async *process(requests, context) {
          const ended = Promise.withResolvers<void>();
          const call = new PickerCall(requests, context.signal, ended.promise, options.keeps ?? true);
          calls.push(call);
          for (const wake of waiting) wake();
          context.signal.addEventListener('abort', () => ended.resolve());
          try {
            yield* call.answer(script);
          } finally {
            ended.resolve();
          }
        },
      }),
  });

  const { maxConcurrentStreams = 4_096, connectionWindow } = options;
  const settings = { settings: { maxConcurrentStreams, enablePush: false } };
  const server: Http2Server | Http2SecureServer =
    options.certificate === undefined
      ? http2.createServer(settings)
      : http2.createSecureServer({ ...settings, ...options.certificate, allowHTTP1: false });
  if (options.raw === undefined) server.on('request', adapter);
  else server.on('stream', options.raw);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session: ServerHttp2Session) => {
    state.openSessions += 1;
    state.sessionsSeen += 1;
    session.on('error', () => {});
    if (connectionWindow !== undefined) session.setLocalWindowSize(connectionWindow);
    session.once('close', () => (state.openSessions -= 1));
  });
  server.on('stream', (stream: ServerHttp2Stream) => {
    state.openStreams += 1;
    stream.once('close', () => (state.openStreams -= 1));
    // As servers of gRPC do: with its status a call is over, whatever the peer still has to say.
    stream.once('wantTrailers', () => setImmediate(() => closeStream(stream)));
  });
  server.on('sessionError', () => {});
  server.on('tlsClientError', () => {});
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    calls,
    get openStreams() {
      return state.openStreams;
    },
    get openSessions() {
      return state.openSessions;
    },
    get sessionsSeen() {
      return state.sessionsSeen;
    },
    get script() {
      return script;
    },
    set script(next) {
      script = next;
    },
    async call(index) {
      while (calls[index] === undefined) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
      return calls[index];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** What was not read is thrown away: node keeps a stream for as long as there is some of that. */
function closeStream(stream: ServerHttp2Stream): void {
  stream.close();
  stream.resume();
}
