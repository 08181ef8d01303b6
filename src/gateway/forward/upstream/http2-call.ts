// Requests over HTTP/2 with prior knowledge (h2c, RFC 9113 section 3.3) on node:http2. Not undici's H2CClient: that one cannot send request
// trailers and holds the head back until the first body byte, which a bidirectional stream (gRPC) may never get to.
import type { ClientHttp2Session, ClientHttp2Stream, ClientSessionOptions } from 'node:http2';
import { closeWithTrailersDue } from '../../../base/close-http2-stream.ts';
import { getHttp2 } from '../../../base/node-parts.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { Connector } from './endpoint-connector.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import { UpstreamSettingsTimeoutError, UpstreamUpgradeError } from './upstream-error.ts';

interface OpenSession {
  readonly session: ClientHttp2Session;
  streams: number;
  /** The upstream sent GOAWAY, or the connection broke: its streams may finish, no new ones begin. */
  retired: boolean;
}

// Fields that came several times go on several times, as over HTTP/1: what they mean is between client and upstream. (The types have it for servers only.)
const sessionOptions: ClientSessionOptions = { strictSingleValueFields: false } as ClientSessionOptions;

type SessionCallback = (error: Error | null, open: OpenSession | null) => void;

/** The HTTP/2 connections to one endpoint; a further one is opened when all streams of the others are taken. */
export class Http2Sessions {
  readonly #connect: Connector;
  readonly #maxStreams: number;
  readonly #settingsTimeoutMs: number;
  readonly #open = new Set<OpenSession>();
  #connecting: { waiting: SessionCallback[] } | undefined;
  #closing = false;

  /** A connection without the upstream's SETTINGS within `settingsTimeoutMs` is closed; 0: no timeout. */
  constructor(connectSocket: Connector, maxStreams: number, settingsTimeoutMs: number) {
    this.#connect = connectSocket;
    this.#maxStreams = maxStreams;
    this.#settingsTimeoutMs = settingsTimeoutMs;
  }

  createCall(request: UpstreamRequest, events: UpstreamEvents, onDone: () => void): UpstreamCall {
    return new Http2Call(this, request, events, onDone);
  }

  /** Connections are closed as soon as they carry no stream. */
  close(): void {
    this.#closing = true;
    for (const open of this.#open) if (open.streams === 0) open.session.close();
  }

  /** Gives a connection with a free stream, which is then taken. */
  take(callback: SessionCallback): void {
    for (const open of this.#open) {
      const limit = Math.min(this.#maxStreams, open.session.remoteSettings?.maxConcurrentStreams ?? this.#maxStreams);
      if (!open.retired && open.streams < limit) {
        open.streams += 1;
        callback(null, open);
        return;
      }
    }
    if (this.#connecting !== undefined) {
      this.#connecting.waiting.push(callback);
      return;
    }
    const connecting = { waiting: [callback] };
    this.#connecting = connecting;
    this.#openSession((error) => {
      this.#connecting = undefined;
      // Calls that get no free stream on the new connection open the next one.
      for (const next of connecting.waiting) {
        if (error === null) this.take(next);
        else next(error, null);
      }
    });
  }

  give(open: OpenSession): void {
    open.streams -= 1;
    if (open.streams === 0 && (this.#closing || open.retired)) open.session.close();
  }

  #openSession(callback: (error: Error | null) => void): void {
    this.#connect((error, socket) => {
      if (error !== null) {
        callback(error);
        return;
      }
      const session = getHttp2().connect('http://upstream.invalid', {
        ...sessionOptions,
        createConnection: () => socket,
      });
      const open: OpenSession = { session, streams: 0, retired: false };
      this.#open.add(open);
      const retire = (): void => {
        open.retired = true;
        this.#open.delete(open);
      };
      session.on('goaway', retire);
      session.on('close', retire);
      // Its streams report the same error, each to its own request.
      session.on('error', retire);
      // Half-open connections are found by their requests' time-outs and by TCP keep-alive; an idle one must not keep the process alive.
      session.unref();
      // Before the upstream's settings nothing is known about how many streams it takes.
      let isReported = false;
      const timer =
        this.#settingsTimeoutMs > 0
          ? setTimeout(
              () => session.destroy(new UpstreamSettingsTimeoutError(this.#settingsTimeoutMs)),
              this.#settingsTimeoutMs,
            )
          : undefined;
      const report = (failure: Error | null): void => {
        if (isReported) return;
        isReported = true;
        clearTimeout(timer);
        callback(failure);
      };
      session.once('remoteSettings', () => report(null));
      session.once('error', report);
      session.once('close', () => report(new Error('the upstream closed the connection before its HTTP/2 settings')));
    });
  }
}

class Http2Call implements UpstreamCall {
  readonly #sessions: Http2Sessions;
  readonly #request: UpstreamRequest;
  readonly #events: UpstreamEvents;
  readonly #onDone: () => void;
  #open: OpenSession | undefined;
  #stream: ClientHttp2Stream | undefined;
  #trailers: RawHeaders = [];
  #sentTrailers: RawHeaders = [];
  /** Node has not asked for the trailers of the request yet, and will. */
  #trailersDue = false;
  #done = false;

  constructor(sessions: Http2Sessions, request: UpstreamRequest, events: UpstreamEvents, onDone: () => void) {
    this.#sessions = sessions;
    this.#request = request;
    this.#events = events;
    this.#onDone = onDone;
  }

  start(): void {
    this.#sessions.take((error, open) => {
      if (this.#done) {
        if (open !== null) this.#sessions.give(open);
        return;
      }
      this.#open = open ?? undefined;
      if (error !== null) this.#fail(error);
      else if (this.#request.upgrade !== undefined)
        this.#fail(new UpstreamUpgradeError('upgrades over HTTP/2 upstreams are not supported'));
      else this.#send(open!.session);
    });
  }

  #send(session: ClientHttp2Session): void {
    const { hasBody, wantsTrailers } = this.#request;
    const waitForTrailers = hasBody && wantsTrailers;
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(buildHeaders(this.#request), { endStream: !hasBody, waitForTrailers });
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    this.#stream = stream;
    this.#trailersDue = waitForTrailers;
    const isComplete = watchEndOfStream(stream);
    session.ref();
    stream.on('headers', (headers, _flags, raw: string[]) =>
      this.#events.onInformational(headers[':status'] ?? 0, dropPseudo(raw)),
    );
    stream.on('response', (headers, _flags, raw: string[]) => {
      if (!this.#done) this.#events.onHead(headers[':status'] ?? 0, dropPseudo(raw));
    });
    stream.on('trailers', (_headers, _flags, raw: string[]) => (this.#trailers = dropPseudo(raw)));
    stream.on('data', (chunk: Buffer) => {
      if (!this.#done && !this.#events.onData(chunk)) stream.pause();
    });
    stream.on('drain', () => this.#events.onBodyDrain());
    stream.on('wantTrailers', () => {
      this.#trailersDue = false;
      stream.sendTrailers(toHeaderObject(this.#sentTrailers));
    });
    stream.on('end', () => {
      if (this.#done || !isComplete()) return;
      this.#done = true;
      this.#events.onEnd(this.#trailers);
      // The answer is complete: the rest of the request is not needed.
      if (this.#trailersDue) this.#cancel(stream);
      else if (!stream.writableFinished) stream.close(getHttp2().constants.NGHTTP2_NO_ERROR);
      this.#finish();
    });
    stream.on('error', (error) => this.#fail(error));
    stream.on('close', () => {
      const code = stream.rstCode ?? getHttp2().constants.NGHTTP2_NO_ERROR;
      this.#fail(new Error(`the upstream closed the stream with code ${code}`));
    });
    this.#events.onStart();
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#stream?.write(chunk) ?? true;
  }

  endBody(trailers: RawHeaders): void {
    this.#sentTrailers = trailers;
    this.#stream?.end();
  }

  resume(): void {
    this.#stream?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    // Still waiting for a connection: when there is one, the callback in `start` gives it back.
    if (this.#stream !== undefined) this.#cancel(this.#stream);
    this.#finish();
  }

  #fail(error: Error): void {
    if (this.#done) return;
    this.#done = true;
    if (this.#stream !== undefined) this.#cancel(this.#stream);
    this.#finish();
    this.#events.onError(error);
  }

  #cancel(stream: ClientHttp2Stream): void {
    if (this.#trailersDue) closeWithTrailersDue(stream, getHttp2().constants.NGHTTP2_CANCEL);
    else stream.close(getHttp2().constants.NGHTTP2_CANCEL);
  }

  #finish(): void {
    if (this.#open !== undefined) {
      this.#sessions.give(this.#open);
      if (this.#open.streams === 0) this.#open.session.unref();
      this.#open = undefined;
    }
    this.#onDone();
  }
}

// Node ends the readable side of a stream that was reset with NO_ERROR or CANCEL just as that of one that the upstream has completed
// (END_STREAM), and servers do send such resets when they are torn down. The difference shows in one place only: for END_STREAM the end
// is pushed while the stream is open, for a reset after node has marked it closed.
function watchEndOfStream(stream: ClientHttp2Stream): () => boolean {
  let complete = false;
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk === null && !stream.closed) complete = true;
    return push(chunk, encoding);
  };
  return () => complete;
}

function buildHeaders(request: UpstreamRequest): string[] {
  const { method, host, target, headers, hasBody, contentLength } = request;
  const fields = [':method', method, ':scheme', 'http', ':authority', host, ':path', target, ...headers];
  if (hasBody && contentLength !== undefined) fields.push('content-length', String(contentLength));
  return fields;
}

function toHeaderObject(raw: RawHeaders): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else headers[name] = [before, value];
  }
  return headers;
}

function dropPseudo(raw: readonly string[]): RawHeaders {
  const headers: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (!raw[i]!.startsWith(':')) headers.push(raw[i]!, raw[i + 1]!);
  return headers;
}
