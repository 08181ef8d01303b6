// The connections to one endpoint that wait for a request. The one used last is used next: the others get old and are closed.
import type { ConnectionOwner, Http1Connection } from './http1-connection.ts';
import type { UpstreamLimits } from './upstream-limits.ts';

/** A connection is closed this much before the server's own timeout, so that no request races with the server's close. */
const marginMs = 1_000;

export class IdleConnections implements ConnectionOwner {
  readonly #limits: Pick<UpstreamLimits, 'keepAliveTimeoutMs' | 'keepAliveMaxTimeoutMs'>;
  readonly #now: () => number;
  readonly #connections: Http1Connection[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sweepsAt = Infinity;
  #isClosed = false;

  constructor(limits: Pick<UpstreamLimits, 'keepAliveTimeoutMs' | 'keepAliveMaxTimeoutMs'>, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#connections.length;
  }

  /** One that can carry a request. */
  take(): Http1Connection | undefined {
    if (this.#connections.length === 0) return undefined;
    const now = this.#now();
    for (;;) {
      const connection = this.#connections.pop();
      if (connection === undefined) return undefined;
      const isGood = connection.expiresAt > now && connection.isUsable;
      connection.expiresAt = 0;
      if (isGood) return connection;
      connection.destroy();
    }
  }

  onFree(connection: Http1Connection, keepAliveSeconds: number | undefined): void {
    const { keepAliveTimeoutMs, keepAliveMaxTimeoutMs } = this.#limits;
    const time =
      keepAliveSeconds === undefined
        ? keepAliveTimeoutMs
        : Math.min(keepAliveSeconds * 1_000 - marginMs, keepAliveMaxTimeoutMs);
    if (time <= 0 || this.#isClosed) return connection.destroy();
    const now = this.#now();
    connection.expiresAt = now + time;
    this.#connections.push(connection);
    if (connection.expiresAt < this.#sweepsAt) this.#scheduleSweep(connection.expiresAt, now);
  }

  onGone(connection: Http1Connection): void {
    if (connection.expiresAt === 0) return;
    const index = this.#connections.lastIndexOf(connection);
    if (index !== -1) this.#connections.splice(index, 1);
  }

  /** Closes them, and all that come. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const connection of this.#connections.splice(0)) connection.destroy();
  }

  /** One timer for all of them. It runs only while there are some, and finds most of them used again. */
  #scheduleSweep(at: number, now: number): void {
    clearTimeout(this.#timer);
    this.#sweepsAt = at;
    this.#timer = setTimeout(() => this.#sweep(), Math.ceil(at - now));
    this.#timer.unref();
  }

  #sweep(): void {
    const now = this.#now();
    this.#sweepsAt = Infinity;
    let next = Infinity;
    let kept = 0;
    for (const connection of this.#connections) {
      if (connection.expiresAt <= now) {
        connection.expiresAt = 0;
        connection.destroy();
      } else {
        this.#connections[kept++] = connection;
        next = Math.min(next, connection.expiresAt);
      }
    }
    this.#connections.length = kept;
    if (next !== Infinity) this.#scheduleSweep(next, now);
  }
}
