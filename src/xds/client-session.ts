// The HTTP/2 session of one connection to a controller (RFC 9113). connect-node has a manager for sessions that opens new ones by itself; a gateway
// needs to know when its connection ends, and why. Pings detect dead connections (gRFC A8).
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
import { keepAlive } from './keep-alive.ts';

/** The interface that a transport of connect-node accepts instead of its own manager. */
type SessionManager = NonNullable<Parameters<typeof createGrpcTransport>[0]['sessionManager']>;

export interface SessionTimes {
  /** The connect timeout, including TLS and the server's SETTINGS. */
  readonly connectMs: number;
  /** The time between pings, and the timeout of a ping. */
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
}

/** In megabytes. The default of 10 would refuse streams while a large message is on its way. */
const maxSessionMemory = 256;
/** The flow-control window of the session and of each stream. */
const windowBytes = 4 * 1024 * 1024;

export class ControllerSession implements SessionManager {
  readonly authority: string;
  readonly #times: SessionTimes;
  readonly #session: ClientHttp2Session;
  readonly #ended = Promise.withResolvers<never>();
  #readAt = performance.now();

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
    // Callers that wait get the rejection; it need not be handled elsewhere.
    this.#ended.promise.catch(() => {});
    this.#session.on('error', (error) => this.#ended.reject(error));
    this.#session.on('close', () => {
      this.#ended.reject(new ConnectError('the connection was closed', Code.Unavailable));
    });
    this.#session.on('goaway', (code) => {
      this.#destroy(new ConnectError(`the controller closed the connection (GOAWAY ${code})`, Code.Unavailable));
    });
  }

  /** Resolves when the server has sent its SETTINGS; rejects with the reason when the connection fails. */
  async connect(): Promise<void> {
    const timer = setTimeout(() => {
      this.#destroy(new ConnectError('the connection timed out', Code.DeadlineExceeded));
    }, this.#times.connectMs);
    try {
      // The kernel of a hung server still accepts connections; SETTINGS come from the process itself (RFC 9113, 3.4).
      const greeted = new Promise<void>((resolve) => this.#session.once('remoteSettings', () => resolve()));
      await Promise.race([greeted, this.#ended.promise]);
    } finally {
      clearTimeout(timer);
    }
    this.#session.setLocalWindowSize(windowBytes);
    const { pingIntervalMs: intervalMs, pingTimeoutMs: timeoutMs } = this.#times;
    keepAlive(this.#session, { intervalMs, timeoutMs }, () => {
      this.#destroy(new ConnectError('the controller no longer answers pings', Code.DeadlineExceeded));
    });
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
    this.#readAt = performance.now();
  }

  /** Time since the last bytes of a response; answers to pings do not count. */
  get silentMs(): number {
    return performance.now() - this.#readAt;
  }

  /** How many bytes have come, answers to pings included. */
  countBytes(): number {
    return this.#session.destroyed ? 0 : (this.#session.socket?.bytesRead ?? 0);
  }

  close(reason = new ConnectError('the connection was closed here', Code.Canceled)): void {
    this.#destroy(reason);
  }

  #destroy(reason: ConnectError): void {
    this.#ended.reject(reason);
    if (!this.#session.destroyed) this.#session.destroy(reason);
  }
}
