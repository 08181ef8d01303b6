// The connections to one endpoint. A free connection is used again, a new one opened when there is none; past the limit requests wait in line.
// A set of undici Clients and not its Pool: a request that waits can be given up at once, and finding a free connection does not
// get slower with the number of open streams.
import { Client } from 'undici';
import type { BackendConfig } from '../config/runtime-config.ts';
import { createConnector, type Connector } from './endpoint-connector.ts';
import { Http1Call, type ConnectionState } from './http1-call.ts';
import { Http1TrailerCall } from './http1-trailer-call.ts';
import { Http2Sessions } from './http2-call.ts';
import { EndpointHealth } from './outlier.ts';
import type { UpstreamObserver } from './upstream-observer.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream-call.ts';
import { classifyUpstreamError, UpstreamOverloadedError } from './upstream-error.ts';
import type { UpstreamLimits } from './upstream-limits.ts';
import type { RawHeaders } from '../listen/exchange.ts';

/** The settings of a backend that its connections depend on: when one of these changes, new connections are needed. */
export type ConnectionSettings = Pick<BackendConfig, 'tls' | 'protocol' | 'connectTimeoutMs'>;

export interface EndpointPoolOptions {
  readonly host: string;
  readonly port: number;
  readonly settings: ConnectionSettings;
  readonly limits: UpstreamLimits;
  readonly now: () => number;
  /** Key of the backend, for the observer. */
  readonly backend: string;
  readonly observer: UpstreamObserver;
}

// undici wants an origin, but the connector decides where connections go and the Host header is always given.
const placeholderOrigin = 'http://upstream.invalid';

const ignore = (): void => {};

/** The connections to one endpoint, and the requests on them. */
export class EndpointPool {
  /** host:port, for the log. */
  readonly name: string;
  readonly health: EndpointHealth;
  readonly #backend: string;
  readonly #observer: UpstreamObserver;
  readonly #limits: UpstreamLimits;
  readonly #connect: Connector;
  readonly #sessions: Http2Sessions | undefined;
  /** The one used last is used next: the others get old and close. */
  readonly #idle: Client[] = [];
  /** In order of arrival; a Set, because the ones that are given up leave from the middle. */
  readonly #waiting = new Set<PooledCall>();
  readonly #running = new Set<PooledCall>();
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: EndpointPoolOptions) {
    const { host, port, settings, limits } = options;
    this.name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.#backend = options.backend;
    this.#observer = options.observer;
    this.#limits = limits;
    this.health = new EndpointHealth(limits, options.now);
    const isHttp2 = settings.protocol === 'h2c';
    this.#connect = createConnector({
      host,
      port,
      tls: settings.tls,
      connectTimeoutMs: settings.connectTimeoutMs,
      protocol: isHttp2 ? 'h2' : 'http/1.1',
      allowHalfOpen: !isHttp2,
    });
    if (isHttp2)
      this.#sessions = new Http2Sessions(this.#connect, limits.maxStreamsPerConnection, settings.connectTimeoutMs);
  }

  /** Requests in flight and in line: what the load balancer compares. */
  get outstanding(): number {
    return this.#running.size + this.#waiting.size;
  }

  /** Connections that wait for a request. */
  get idleConnections(): number {
    return this.#idle.length;
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
    if (this.health.isSetAside) this.#observer.returned(this.#backend, this.name);
    this.health.recordSuccess();
  }

  /** @internal */
  recordUnreachable(error: Error): void {
    this.#observer.connectFailed(this.#backend, this.name, error);
    const wasSetAside = this.health.isSetAside;
    const duration = this.health.recordFailure();
    if (duration > 0) this.#observer.setAside(this.#backend, this.name, duration, wasSetAside);
  }

  /** @internal */
  leaveLine(call: PooledCall): void {
    this.#waiting.delete(call);
    this.#settleClosing();
  }

  #run(call: PooledCall): void {
    this.#running.add(call);
    this.health.recordAttempt();
    call.run(this.#createInner(call));
  }

  #createInner(call: PooledCall): UpstreamCall {
    const { request } = call;
    const done = (): void => this.#finish(call);
    if (this.#sessions !== undefined) return this.#sessions.createCall(request, call, done);
    if (request.wantsTrailers && request.hasBody)
      return new Http1TrailerCall(this.#connect, request, call, this.#limits, done);
    const client = this.#idle.pop() ?? this.#createClient();
    return new Http1Call(client, request, call, (state) => {
      this.#release(client, state);
      done();
    });
  }

  #createClient(): Client {
    const client = new Client(placeholderOrigin, {
      pipelining: 1,
      allowH2: false,
      // The forwarder has its own clocks, the same for every transport.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: this.#limits.keepAliveTimeoutMs,
      keepAliveMaxTimeout: this.#limits.keepAliveMaxTimeoutMs,
      maxHeaderSize: this.#limits.maxResponseHeaderBytes,
      connect: (_options, callback) => this.#connect(callback),
    });
    client.on('disconnect', () => {
      const index = this.#idle.indexOf(client);
      if (index === -1) return;
      this.#idle.splice(index, 1);
      client.close(ignore);
    });
    return client;
  }

  #release(client: Client, state: ConnectionState): void {
    if (state === 'reusable' && this.#closing === undefined) this.#idle.push(client);
    else client.close(ignore);
  }

  #finish(call: PooledCall): void {
    if (!this.#running.delete(call)) return;
    this.#settleClosing();
    if (this.#waiting.size === 0) return;
    // Not in this turn: undici checks a connection for bytes nobody asked for before it is used again, but only when it was idle for a moment.
    queueMicrotask(() => {
      for (const next of this.#waiting) {
        if (this.#running.size >= this.#limits.maxConcurrentRequests) return;
        this.#waiting.delete(next);
        this.#run(next);
      }
    });
  }

  /** No new requests are expected; resolves when those in flight and in line are done, however long their streams last. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers();
      if (this.health.isSetAside) this.#observer.returned(this.#backend, this.name);
      for (const client of this.#idle.splice(0)) client.close(ignore);
      this.#sessions?.close();
      this.#settleClosing();
    }
    return this.#closing.promise;
  }

  /** Breaks off what is still in flight. */
  destroy(error: Error): void {
    void this.close();
    for (const call of this.#waiting) call.breakOff(error);
    for (const call of this.#running) call.breakOff(error);
  }

  #settleClosing(): void {
    if (this.outstanding === 0) this.#closing?.resolve();
  }
}

// A call with its place in the pool. Stands between the transport and the forwarder, so that every ending passes the pool.
class PooledCall implements UpstreamCall, UpstreamEvents {
  readonly request: UpstreamRequest;
  readonly #pool: EndpointPool;
  readonly #events: UpstreamEvents;
  #inner: UpstreamCall | undefined;
  #connected = false;
  #done = false;

  constructor(pool: EndpointPool, request: UpstreamRequest, events: UpstreamEvents) {
    this.#pool = pool;
    this.request = request;
    this.#events = events;
  }

  start(): void {
    this.#pool.admit(this);
  }

  run(inner: UpstreamCall): void {
    this.#inner = inner;
    inner.start();
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

  endBody(trailers: RawHeaders): void {
    this.#inner?.endBody(trailers);
  }

  resume(): void {
    this.#inner?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    if (this.#inner === undefined) this.#pool.leaveLine(this);
    else this.#inner.abort();
  }

  onStart(): void {
    this.#connected = true;
    this.#pool.recordConnected();
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
      this.#pool.recordUnreachable(error);
    this.#events.onError(error);
  }
}
