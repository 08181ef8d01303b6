// One HTTP/1 connection (RFC 9112): hands its requests over one after the other, and knows when it may close.
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Reason } from '../reasons.ts';
import { type ConnectionPeer, describePeer } from './connection-peer.ts';
import { endConnection, formatEarlyAnswer, refuseRequest } from './early-answer.ts';
import { type Http1RequestHead, readHttp1RequestHead } from './http1-request-head.ts';
import { NodeHttp1Exchange } from './node-http1-exchange.ts';
import type { ClientConnection, PortContext } from './port-context.ts';
import { serveExchange } from './serve-exchange.ts';

/** Pipelined requests that wait their turn before the connection stops being read. */
const maxWaitingRequests = 8;

/**
 * While draining, an idle connection closes after this much silence and not at once: a client that has just been answered
 * often has its next request on the way, and HTTP/1 has no way to refuse it safely.
 */
const quietMs = 500;

/** The requests of one socket, in order. */
export class NodeHttp1Connection implements ClientConnection {
  readonly #socket: Socket;
  readonly #context: PortContext;
  readonly #peer: ConnectionPeer;
  #current: NodeHttp1Exchange | undefined;
  readonly #waiting: NodeHttp1Exchange[] = [];
  #draining = false;
  #quietTimer: NodeJS.Timeout | undefined;
  /** What was received when the last request had been served: more means that a head is on its way. */
  #bytesWhenIdle = 0;
  /** Nothing that arrives from now on is a request any more. */
  #refused = false;
  /** To be said once the exchanges before it are answered. */
  #lastWords: (() => void) | undefined;

  constructor(socket: Socket, context: PortContext, alreadyReceived: number) {
    this.#socket = socket;
    this.#context = context;
    this.#peer = describePeer(socket);
    this.#bytesWhenIdle = socket.bytesRead - alreadyReceived;
    socket.once('close', (hadError) => this.#onSocketClose(hadError));
  }

  /** A request head is complete. */
  receive(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (this.#refused) return;
    const head = this.#judge(request);
    if (head.kind === 'refused') {
      this.#refused = true;
      // Node keeps the order of the answers: this one waits for those before it, and closes the connection after itself.
      const answer = refuseRequest(this.#context, this.#peer.remoteAddress, head.reason, head.detail);
      response.on('error', () => {});
      response.shouldKeepAlive = false;
      response.writeHead(answer.status, [...answer.headers]);
      response.end(request.method === 'HEAD' ? undefined : Buffer.from(answer.body));
      return;
    }
    const exchange = this.#createExchange(request, response, head, expectsContinue, undefined);
    if (this.#current === undefined) {
      this.#start(exchange);
      return;
    }
    this.#waiting.push(exchange);
    if (this.#waiting.length >= maxWaitingRequests) this.#socket.pause();
  }

  /** The client asks for another protocol (or CONNECT): the HTTP parser has let go of the socket. */
  receiveUpgrade(request: IncomingMessage, head: Buffer): void {
    const socket = this.#socket;
    socket.on('error', () => {});
    const verdict = this.#judge(request);
    if (this.#refused || verdict.kind === 'refused' || this.#current !== undefined) {
      // A switch of protocols behind pipelined requests cannot be told apart from an attack.
      const [reason, detail]: [Reason, string] =
        verdict.kind === 'refused' ? [verdict.reason, verdict.detail] : ['bad_request', 'a pipelined protocol upgrade'];
      if (!this.#refused) this.#refuseInOrder(reason, detail);
      return;
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    // The parser's listeners are gone, and with them the drain events and the notice of a client that leaves.
    const onDrain = (): void => void response.emit('drain');
    const onReadable = (): void => {
      if (socket.readableLength === 0) socket.read();
    };
    const onEnd = (): void => void socket.destroy();
    socket.on('drain', onDrain);
    socket.on('readable', onReadable);
    socket.on('end', onEnd);
    const release = (): void => {
      socket.off('drain', onDrain);
      socket.off('readable', onReadable);
      socket.off('end', onEnd);
    };
    response.on('finish', () => {
      response.detachSocket(socket);
      release();
      endConnection(socket, '');
    });
    this.#start(this.#createExchange(request, response, verdict, false, { head, release }));
  }

  /** True when a request that arrives now would be the next to be answered. */
  get idle(): boolean {
    return this.#current === undefined;
  }

  /** The parser gave up, or the head took too long. */
  fail(reason: Reason, detail: string): void {
    if (this.#refused) return;
    this.#refused = true;
    const last = this.#waiting.at(-1) ?? this.#current;
    if (last !== undefined && !last.requestComplete) {
      // The broken bytes belong to the body of a request that was already taken.
      if (last === this.#current && last.headSent) {
        this.#socket.destroy();
        return;
      }
      if (last === this.#current) {
        this.#current = undefined;
        this.#refuseInOrder(reason, detail);
        last.settle(false);
        return;
      }
      this.#waiting.pop();
      last.settle(false);
    }
    this.#refuseInOrder(reason, detail);
  }

  startDraining(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#closeWhenQuiet();
  }

  abort(): void {
    this.#current?.abort();
    this.#socket.destroy();
  }

  #judge(request: IncomingMessage): Http1RequestHead {
    const { method = '', url = '', httpVersion, rawHeaders } = request;
    return readHttp1RequestHead({ method, url, httpVersion, rawHeaders }, this.#context.limits.maxHeaderCount);
  }

  #createExchange(
    request: IncomingMessage,
    response: ServerResponse,
    head: Extract<Http1RequestHead, { kind: 'accepted' }>,
    expectsContinue: boolean,
    upgrade: { readonly head: Buffer; readonly release: () => void } | undefined,
  ): NodeHttp1Exchange {
    const context = this.#context;
    return new NodeHttp1Exchange({
      request,
      response,
      socket: this.#socket,
      peer: this.#peer,
      head,
      expectsContinue,
      upgradeHead: upgrade?.head,
      onUpgraded: () => upgrade?.release(),
      shouldClose: () => this.#draining && this.#waiting.length === 0,
      onSettled: (exchange) => this.#onSettled(exchange),
      onInvalidHead: (error) => {
        context.log.error({ bindKey: context.bindKey, err: error }, 'an answer had a head that cannot be sent');
        return refuseRequest(context, this.#peer.remoteAddress, 'internal_error', 'invalid answer head');
      },
    });
  }

  #start(exchange: NodeHttp1Exchange): void {
    clearTimeout(this.#quietTimer);
    this.#current = exchange;
    serveExchange(this.#context, exchange);
  }

  #onSettled(exchange: NodeHttp1Exchange): void {
    if (this.#current !== exchange) return;
    this.#current = undefined;
    if (this.#socket.destroyed || exchange.closesConnection) return;
    const next = this.#waiting.shift();
    if (next !== undefined) {
      if (this.#waiting.length === maxWaitingRequests - 1) this.#socket.resume();
      // Node gives the socket to the next response only after its own listeners have run.
      process.nextTick(() => {
        if (!this.#socket.destroyed) this.#start(next);
      });
      this.#current = next;
      return;
    }
    this.#bytesWhenIdle = this.#socket.bytesRead;
    if (this.#lastWords !== undefined) this.#lastWords();
    else if (this.#draining) this.#closeWhenQuiet();
  }

  /** Answers after everything that was asked before, then closes. */
  #refuseInOrder(reason: Reason, detail: string): void {
    const answer = formatEarlyAnswer(refuseRequest(this.#context, this.#peer.remoteAddress, reason, detail));
    this.#refused = true;
    if (this.#current === undefined) endConnection(this.#socket, answer);
    else this.#lastWords = () => endConnection(this.#socket, answer);
  }

  #closeWhenQuiet(): void {
    clearTimeout(this.#quietTimer);
    if (this.#current !== undefined || this.#socket.destroyed) return;
    this.#quietTimer = setTimeout(() => {
      // After a poll for I/O: what had arrived by now has been read.
      setImmediate(() => {
        if (this.#current !== undefined || this.#socket.destroyed) return;
        if (this.#socket.bytesRead === this.#bytesWhenIdle) this.#socket.destroySoon();
        else this.#closeWhenQuiet();
      });
    }, quietMs);
  }

  #onSocketClose(hadError: boolean): void {
    clearTimeout(this.#quietTimer);
    const socket = this.#socket;
    const endedWell = !hadError && socket.readableEnded && socket.writableFinished;
    const waiting = this.#waiting.splice(0);
    this.#current?.settle(endedWell);
    for (const exchange of waiting) exchange.settle(false);
  }
}
