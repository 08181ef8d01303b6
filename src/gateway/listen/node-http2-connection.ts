// One HTTP/2 connection (RFC 9113): hands its streams over as exchanges, closes after the idle timeout, and sends GOAWAY before it closes.
import type { ServerHttp2Session, ServerHttp2Stream, ServerOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { getHttp2 } from '../../base/node-parts.ts';
import { PlacedList } from '../../base/placed-list.ts';
import { type ConnectionPeer, describePeer } from './connection-peer.ts';
import { destroyAfter, refuseRequest } from './early-answer.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { readHttp2RequestHead } from './http2-request-head.ts';
import type { ListenLimits } from './limits.ts';
import { NodeHttp2Exchange } from './node-http2-exchange.ts';
import type { ClientConnection, PortContext } from './port-context.ts';
import { serveExchange } from './serve-exchange.ts';

/** Time for the client to see the GOAWAY, and then again to close its side. */
const goawayGraceMs = 1_000;
/** The same for a connection without streams, where some clients no longer answer even a PING. */
const idleGoawayGraceMs = 200;
const highestStreamId = 2 ** 31 - 1;

/** Takes over a socket whose client speaks HTTP/2. Bytes that were read before must have been put back. */
export function serveHttp2(socket: Socket, context: PortContext): ClientConnection {
  return new NodeHttp2Connection(socket, context);
}

class NodeHttp2Connection implements ClientConnection {
  readonly #socket: Socket;
  readonly #context: PortContext;
  readonly #peer: ConnectionPeer;
  readonly #session: ServerHttp2Session;
  readonly #exchanges = new PlacedList<NodeHttp2Exchange>();
  #openStreams = 0;
  #timer: NodeJS.Timeout | undefined;
  #leaving = false;

  constructor(socket: Socket, context: PortContext) {
    this.#socket = socket;
    this.#context = context;
    this.#peer = describePeer(socket);
    // A client that half-closes its connection is gone. HTTP/1 handles half-closed connections itself, HTTP/2 leaves them to the socket.
    socket.allowHalfOpen = false;
    const session = getHttp2().performServerHandshake(socket, createOptions(context.limits));
    this.#session = session;
    session.on('error', (error) => {
      context.log.debug({ bindKey: context.bindKey, err: error }, 'HTTP/2 connection failed');
    });
    session.on('stream', (stream, _headers, flags, rawHeaders) => this.#receive(stream, flags, rawHeaders));
    // The client's SETTINGS are part of its connection preface; the timeout of a request head applies to them.
    this.#timer = setTimeout(() => session.destroy(), context.limits.headerTimeoutMs);
    session.once('remoteSettings', () => this.#waitForStreams());
    session.once('close', () => clearTimeout(this.#timer));
    socket.once('close', () => clearTimeout(this.#timer));
  }

  startDraining(): void {
    const session = this.#session;
    if (this.#leaving || session.destroyed || session.closed) return;
    this.#leaving = true;
    // In two steps (RFC 9113, 6.8), so that the connection is closed when the client knows. From the first one on, nghttp2 ignores new streams, and Node has no
    // call for a notice alone: those that the client opened before it read the GOAWAY are refused by the second one, which says that they were not processed.
    session.goaway(getHttp2().constants.NGHTTP2_NO_ERROR, highestStreamId);
    const close = (): void => {
      clearTimeout(timer);
      this.#close();
    };
    const timer = setTimeout(close, this.#openStreams === 0 ? idleGoawayGraceMs : goawayGraceMs);
    if (!session.ping(() => close())) close();
  }

  abort(): void {
    for (const exchange of this.#exchanges.toArray()) exchange.abort();
    setImmediate(() => this.#session.destroy());
  }

  #receive(stream: ServerHttp2Stream, flags: number, rawHeaders: RawHeaders): void {
    clearTimeout(this.#timer);
    this.#openStreams += 1;
    stream.once('close', () => {
      this.#openStreams -= 1;
      if (this.#openStreams === 0) this.#waitForStreams();
    });
    const context = this.#context;
    const head = readHttp2RequestHead(rawHeaders, context.limits);
    if (head.kind === 'refused') {
      stream.on('error', () => {});
      const { remoteAddress } = this.#peer;
      const { status, headers, body } = refuseRequest(context, remoteAddress, head.reason, head.detail);
      if (stream.destroyed || stream.closed) return;
      stream.respond([':status', String(status), ...headers]);
      // Node has ended the stream of a HEAD request already.
      if (stream.writable) stream.end(body);
      return;
    }
    const exchange = new NodeHttp2Exchange({
      stream,
      peer: this.#peer,
      head,
      hasBody: (flags & getHttp2().constants.NGHTTP2_FLAG_END_STREAM) === 0,
      onInvalidHead: (error) => {
        context.log.error({ bindKey: context.bindKey, err: error }, 'cannot send the head of an answer');
        return refuseRequest(context, this.#peer.remoteAddress, 'internal_error', 'invalid answer head');
      },
    });
    this.#exchanges.add(exchange);
    exchange.onClose(() => this.#exchanges.delete(exchange));
    serveExchange(context, exchange);
  }

  /** No stream is open: the connection is idle, or done. */
  #waitForStreams(): void {
    clearTimeout(this.#timer);
    if (this.#openStreams > 0 || this.#socket.destroyed) return;
    if (this.#session.closed || this.#session.destroyed) {
      destroyAfter(this.#socket, goawayGraceMs);
      return;
    }
    // Only requests refresh the idle timeout: PING frames or half a request head keep no connection open.
    this.#timer = setTimeout(() => this.startDraining(), this.#context.limits.idleTimeoutMs);
  }

  #close(): void {
    if (this.#session.destroyed) return;
    this.#session.close();
    this.#waitForStreams();
  }
}

function createOptions(limits: ListenLimits): ServerOptions {
  return {
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      enableConnectProtocol: true,
    },
    // Twice the limit: up to there a client gets an answer that explains the error, past it a reset stream.
    maxHeaderListPairs: limits.maxHeaderCount * 2 + 8,
    // Megabytes for one connection's buffers and header tables; past that, new streams are refused.
    maxSessionMemory: 32,
    // Floods: resets in a row (CVE-2023-44487), frames that make no sense, streams past the limit, settings, our own pings.
    streamResetBurst: 1_000,
    streamResetRate: 33,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    maxSettings: 32,
    maxOutstandingPings: 10,
    // A field that the upstream sends twice goes to the client twice.
    strictSingleValueFields: false,
  };
}
