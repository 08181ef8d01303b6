// The connection pool of one endpoint. A free connection is reused, a new one opened if there is none; past the limit, requests wait in a queue.
import type { Socket } from 'node:net';
import { cutText } from '../../../base/cut-text.ts';
import type { LocalGuard } from '../../../base/local-guard.ts';
import { type Placed, PlacedList } from '../../../base/placed-list.ts';
import type { ReaderLimits } from '../../../http1/message-reader.ts';
import type { BackendConfig } from '../../config/runtime-config.ts';
import { createConnector, type Connector, type ConnectorOptions } from './endpoint-connector.ts';
import { type ConnectionUser, deliverBytes, Http1Connection } from './http1-connection.ts';
import { Http2Sessions } from './http2-call.ts';
import { IdleConnections } from './idle-connections.ts';
import type { EndpointState } from './endpoint-state.ts';
import { EndpointHealth } from './outlier.ts';
import type { UpstreamObserver } from './upstream-observer.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import { classifyUpstreamError, describeError, UpstreamOverloadedError } from './upstream-error.ts';
import type { UpstreamLimits } from './upstream-limits.ts';
import type { RawHeaders } from '../../http/exchange.ts';

/** The settings of a backend that its connections depend on: when one of these changes, new connections are needed. */
type ConnectionSettings = Pick<BackendConfig, 'tls' | 'protocol' | 'connectTimeoutMs'>;

interface EndpointPoolOptions {
  readonly host: string;
  readonly port: number;
  readonly settings: ConnectionSettings;
  readonly limits: UpstreamLimits;
  /** Addresses that are not connected to; none when absent. */
  readonly guard?: LocalGuard | undefined;
  readonly now: () => number;
  /** Key of the backend, for the observer. */
  readonly backend: string;
  readonly observer: UpstreamObserver;
}

/** Fields of one response head. */
const maxResponseHeaderCount = 1_000;
/** Characters of an error that are kept for the admin pages. */
const maxFailureLength = 512;

/** The connections to one endpoint, and the requests on them. */
export class EndpointPool {
  /** host:port, for the log. */
  readonly name: string;
  readonly health: EndpointHealth;
  readonly #backend: string;
  readonly #observer: UpstreamObserver;
  readonly #limits: UpstreamLimits;
  readonly #connect: Connector;
  /** For connections that may become a tunnel: only these can be read as a stream. */
  readonly #connectStream: Connector;
  readonly #sessions: Http2Sessions | undefined;
  readonly #idle: IdleConnections;
  readonly #readerLimits: ReaderLimits;
  /** In order of arrival; a Set, because aborted calls leave from the middle. */
  readonly #waiting = new Set<PooledCall>();
  readonly #running = new PlacedList<PooledCall>();
  #lastFailure: EndpointState['lastFailure'] = null;
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: EndpointPoolOptions) {
    const { host, port, settings, limits } = options;
    this.name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.#backend = options.backend;
    this.#observer = options.observer;
    this.#limits = limits;
    this.health = new EndpointHealth(limits, options.now);
    this.#idle = new IdleConnections(limits, options.now);
    this.#readerLimits = { maxHeaderBytes: limits.maxResponseHeaderBytes, maxHeaderCount: maxResponseHeaderCount };
    const isHttp2 = settings.protocol === 'h2c';
    const connectorOptions: ConnectorOptions = {
      host,
      port,
      tls: settings.tls,
      guard: options.guard,
      connectTimeoutMs: settings.connectTimeoutMs,
      protocol: isHttp2 ? 'h2' : 'http/1.1',
      allowHalfOpen: !isHttp2,
    };
    this.#connectStream = createConnector(connectorOptions);
    this.#connect =
      isHttp2 || settings.tls !== undefined
        ? this.#connectStream
        : createConnector({ ...connectorOptions, onBytes: deliverBytes });
    if (isHttp2)
      this.#sessions = new Http2Sessions(this.#connect, limits.maxStreamsPerConnection, settings.connectTimeoutMs);
  }

  /** Requests in flight and in line: what the load balancer compares. */
  get outstanding(): number {
    return this.#running.size + this.#waiting.size;
  }

  /** For the admin pages. */
  describe(): EndpointState {
    return {
      backend: this.#backend,
      endpoint: this.name,
      isEjected: this.health.isEjected,
      outstanding: this.outstanding,
      lastFailure: this.#lastFailure,
    };
  }

  /** Connections that wait for a request. */
  get idleConnections(): number {
    return this.#idle.size;
  }

  /** A call to this endpoint. It begins, or takes its place in line, with `start`. */
  createCall(request: UpstreamRequest, events: UpstreamEvents): UpstreamCall {
    return new PooledCall(this, request, events);
  }

  /** @internal */
  admit(call: PooledCall): void {
    if (this.#running.size < this.#limits.maxConcurrentRequests) {
      this.#run(call);
    } else if (this.#waiting.size < this.#limits.maxWaitingRequests) {
      this.#waiting.add(call);
    } else {
      call.refuse(new UpstreamOverloadedError(this.name));
    }
  }

  /** @internal */
  recordConnected(): void {
    if (this.health.isEjected) this.#observer.returned(this.#backend, this.name);
    this.health.recordSuccess();
  }

  /** @internal */
  recordUnreachable(error: Error): void {
    this.#observer.connectFailed(this.#backend, this.name, error);
    this.#lastFailure = { atMs: Date.now(), message: cutText(describeError(error), maxFailureLength) };
    const wasEjected = this.health.isEjected;
    const duration = this.health.recordFailure();
    if (duration > 0) this.#observer.ejected(this.#backend, this.name, duration, wasEjected);
  }

  /** @internal */
  leaveLine(call: PooledCall): void {
    this.#waiting.delete(call);
    this.#settleClosing();
  }

  #run(call: PooledCall): void {
    this.#running.add(call);
    this.health.recordAttempt();
    if (this.#sessions !== undefined) {
      call.run(this.#sessions.createCall(call.request, call, () => this.finish(call)));
      return;
    }
    if (call.request.upgrade !== undefined || this.#idle.size === 0) return this.#open(call);
    call.awaitConnection();
    if (ready.length === 0) setImmediate(runReady);
    ready.push(call);
  }

  /** @internal Called when all input of this turn was read: a connection that is still free has neither closed nor sent unsolicited bytes. */
  takeConnection(call: PooledCall): void {
    if (call.isDone) return this.finish(call);
    const connection = this.#idle.take();
    if (connection !== undefined) call.runOn(connection);
    else this.#open(call);
  }

  #open(call: PooledCall): void {
    call.awaitConnection();
    const connect = call.request.upgrade === undefined ? this.#connect : this.#connectStream;
    connect((error, socket) => {
      if (call.isDone) {
        // Given up in the meantime.
        socket?.destroy();
        this.finish(call);
      } else if (error !== null) {
        this.finish(call);
        call.onError(error);
      } else {
        call.runOn(this.#createConnection(socket));
      }
    });
  }

  #createConnection(socket: Socket): Http1Connection {
    return new Http1Connection(socket, this.#readerLimits, this.#idle);
  }

  /** @internal Its place is free. */
  finish(call: PooledCall): void {
    if (!this.#running.delete(call)) return;
    this.#settleClosing();
    if (this.#waiting.size > 0) queueMicrotask(() => this.#runWaiting());
  }

  #runWaiting(): void {
    for (const next of this.#waiting) {
      if (this.#running.size >= this.#limits.maxConcurrentRequests) return;
      this.#waiting.delete(next);
      this.#run(next);
    }
  }

  /** No new requests are expected; resolves when those in flight and in line are done, however long their streams last. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers();
      if (this.health.isEjected) this.#observer.returned(this.#backend, this.name);
      this.#idle.close();
      this.#sessions?.close();
      this.#settleClosing();
    }
    return this.#closing.promise;
  }

  /** Breaks off what is still in flight. */
  destroy(error: Error): void {
    void this.close();
    for (const call of this.#waiting) call.breakOff(error);
    for (const call of this.#running.toArray()) call.breakOff(error);
  }

  #settleClosing(): void {
    if (this.outstanding === 0) this.#closing?.resolve();
  }
}

// Calls that take a free connection after this turn's input was read. One immediate for all of them.
let ready: PooledCall[] = [];

function runReady(): void {
  const calls = ready;
  ready = [];
  for (const call of calls) {
    try {
      call.pool.takeConnection(call);
    } catch (error) {
      call.breakOff(error as Error);
    }
  }
}

// A call with its place in the pool. Wraps the transport, so that the pool sees every end of a call.
class PooledCall implements UpstreamCall, ConnectionUser, Placed {
  place = -1;
  readonly request: UpstreamRequest;
  readonly pool: EndpointPool;
  readonly #events: UpstreamEvents;
  /** While the request is on its way. */
  #inner: Omit<UpstreamCall, 'start'> | undefined;
  #isConnecting = false;
  #connected = false;
  #done = false;

  constructor(pool: EndpointPool, request: UpstreamRequest, events: UpstreamEvents) {
    this.pool = pool;
    this.request = request;
    this.#events = events;
  }

  start(): void {
    this.pool.admit(this);
  }

  /** No further event will come. */
  get isDone(): boolean {
    return this.#done;
  }

  run(inner: UpstreamCall): void {
    this.#inner = inner;
    inner.start();
  }

  awaitConnection(): void {
    this.#isConnecting = true;
  }

  /** The connection is this call's until `onRelease`. */
  runOn(connection: Http1Connection): void {
    this.#inner = connection;
    connection.begin(this.request, this);
  }

  onRelease(): void {
    this.#inner = undefined;
    this.pool.finish(this);
  }

  refuse(error: Error): void {
    this.#done = true;
    queueMicrotask(() => this.#events.onError(error));
  }

  breakOff(error: Error): void {
    if (this.#done) return;
    this.abort();
    this.#events.onError(error);
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#inner?.writeBody(chunk) ?? true;
  }

  get hasSentAll(): boolean | undefined {
    return this.#inner?.hasSentAll;
  }

  endBody(trailers: RawHeaders): void {
    this.#inner?.endBody(trailers);
  }

  resume(): void {
    this.#inner?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    if (this.#inner !== undefined) this.#inner.abort();
    // Still connecting: the connector's callback lets go of the place.
    else if (!this.#isConnecting) this.pool.leaveLine(this);
  }

  onStart(): void {
    this.#connected = true;
    this.pool.recordConnected();
    this.#events.onStart();
  }

  onInformational(status: number, headers: RawHeaders): void {
    this.#events.onInformational(status, headers);
  }

  onHead(status: number, headers: RawHeaders): void {
    this.#events.onHead(status, headers);
  }

  onData(chunk: Uint8Array): boolean {
    return this.#events.onData(chunk);
  }

  onEnd(trailers: RawHeaders): void {
    this.#done = true;
    this.#events.onEnd(trailers);
  }

  onUpgrade(...args: Parameters<UpstreamEvents['onUpgrade']>): void {
    this.#done = true;
    this.#inner = undefined;
    this.#events.onUpgrade(...args);
  }

  onBodyDrain(): void {
    this.#events.onBodyDrain();
  }

  onBodyRefused(): void {
    this.#events.onBodyRefused();
  }

  onError(error: Error): void {
    this.#done = true;
    if (!this.#connected && classifyUpstreamError(error, 'connecting') !== 'internal_error')
      this.pool.recordUnreachable(error);
    this.#events.onError(error);
  }
}
