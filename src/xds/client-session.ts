// The HTTP/2 session of one connection to a controller (RFC 9113). connect-node has a manager for sessions that opens new ones by itself; a gateway
// wants to know when its connection ends, and why. Pings find out when nothing comes back any more (gRFC A8).
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { Code, ConnectError } from '@connectrpc/connect';
import type { createGrpcTransport } from '@connectrpc/connect-node';

/** What a transport of connect-node takes in the place of its own manager. */
type SessionManager = NonNullable<Parameters<typeof createGrpcTransport>[0]['sessionManager']>;

export interface SessionTimes {
  /** Until the connection stands, TLS and the server's greeting included. */
  readonly connectMs: number;
  /** Silence after which a ping asks whether the server is still there, and how long it has to answer. */
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
}

/** In megabytes. The default of 10 would refuse streams while a large message is on its way. */
const maxSessionMemory = 256;
/** Of the session and of each stream: what may be on its way without a word from us. */
const windowBytes = 4 * 1024 * 1024;

export class ControllerSession implements SessionManager {
  readonly authority: string;
  readonly #times: SessionTimes;
  readonly #session: ClientHttp2Session;
  readonly #ended = Promise.withResolvers<never>();
  #heardAt = performance.now();
  #readAt = performance.now();
  #pingTimer: NodeJS.Timeout | undefined;

  /** Begins to connect. `ca` is PEM; undefined: the system's roots. */
  constructor(server: string, ca: string | undefined, times: SessionTimes) {
    this.authority = new URL(server).origin;
    this.#times = times;
    const options: SecureClientSessionOptions = {
      maxSessionMemory,
      settings: { enablePush: false, initialWindowSize: windowBytes },
      ...(ca === undefined ? {} : { ca }),
    };
    this.#session = connect(this.authority, options);
    // Whoever waits is told; nobody else has to listen.
    this.#ended.promise.catch(() => {});
    this.#session.on('error', (error) => this.#ended.reject(error));
    this.#session.on('close', () => {
      clearTimeout(this.#pingTimer);
      this.#ended.reject(new ConnectError('the connection was closed', Code.Unavailable));
    });
    this.#session.on('goaway', (code) => {
      this.#destroy(new ConnectError(`the controller said good-bye (${code})`, Code.Unavailable));
    });
  }

  /** Resolves when the server has said hello; rejects with the reason when it cannot be made. */
  async connect(): Promise<void> {
    const timer = setTimeout(() => {
      this.#destroy(new ConnectError('the connection was not made in time', Code.DeadlineExceeded));
    }, this.#times.connectMs);
    try {
      // The kernel of a server that hangs takes connections all the same; its first words come from the process itself (RFC 9113, 3.4).
      const greeted = new Promise<void>((resolve) => this.#session.once('remoteSettings', () => resolve()));
      await Promise.race([greeted, this.#ended.promise]);
    } finally {
      clearTimeout(timer);
    }
    this.#session.setLocalWindowSize(windowBytes);
    this.#heardAt = performance.now();
    this.#schedulePing();
  }

  request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    options: Omit<ClientSessionRequestOptions, 'signal'>,
  ): Promise<ClientHttp2Stream> {
    if (this.#session.closed || this.#session.destroyed) return this.#ended.promise;
    return Promise.resolve(this.#session.request({ ...headers, ':method': method, ':path': path }, options));
  }

  notifyResponseByteRead(): void {
    this.#heardAt = performance.now();
    this.#readAt = this.#heardAt;
  }

  /** For how long nothing of a response has come; answers to pings do not count. */
  get silentMs(): number {
    return performance.now() - this.#readAt;
  }

  close(reason = new ConnectError('the connection was closed here', Code.Canceled)): void {
    this.#destroy(reason);
  }

  #destroy(reason: ConnectError): void {
    clearTimeout(this.#pingTimer);
    this.#ended.reject(reason);
    if (!this.#session.destroyed) this.#session.destroy(reason);
  }

  #schedulePing(): void {
    const { pingIntervalMs } = this.#times;
    const silentMs = performance.now() - this.#heardAt;
    this.#pingTimer = setTimeout(() => this.#ping(), Math.max(1, pingIntervalMs - silentMs)).unref();
  }

  #ping(): void {
    if (this.#session.closed || this.#session.destroyed) return;
    const { pingIntervalMs, pingTimeoutMs } = this.#times;
    if (performance.now() - this.#heardAt < pingIntervalMs) return this.#schedulePing();
    this.#pingTimer = setTimeout(() => {
      this.#destroy(new ConnectError('the controller does not answer any more', Code.DeadlineExceeded));
    }, pingTimeoutMs).unref();
    this.#session.ping((error) => {
      clearTimeout(this.#pingTimer);
      // The end of the session has listeners of its own.
      if (error !== null || this.#session.destroyed) return;
      this.#heardAt = performance.now();
      this.#schedulePing();
    });
  }
}
