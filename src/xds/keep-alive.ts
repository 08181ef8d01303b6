// Finds dead HTTP/2 connections (RFC 9113, 6.7): a peer that is gone, or hangs, does not answer a PING.
import type { Http2Session } from 'node:http2';
import { type Clock, systemClock } from '../base/clock.ts';

export interface KeepAliveOptions {
  /** Between the answer to a ping and the next ping. */
  readonly intervalMs: number;
  /** How long the peer may be silent while a ping waits for its answer. */
  readonly timeoutMs: number;
}

/** A connection, as far as it matters here. */
export interface PingedPeer {
  /** Sends a ping; `onAnswer` is called when the answer has come. */
  ping(onAnswer: () => void): void;
  /** How many bytes have come. */
  countBytes(): number;
  /** The peer does not answer. */
  giveUp(): void;
}

/** While a ping waits, the connection is looked at this often per timeout. */
const looksPerTimeout = 5;

/**
 * Pings the peer, and gives up when it stays silent. Bytes that arrive meanwhile count as an answer: a PING waits behind what is already on its way, and a slow
 * connection is not a dead one. Silence is counted in looks, not read from a clock: if this process itself was paused or busy, it looks late, and that is one look
 * and not the peer's silence.
 *
 * A peer that hangs is given up after at most `intervalMs + timeoutMs`, plus a fifth of `timeoutMs` if bytes were still on their way.
 */
export class KeepAlive {
  readonly #peer: PingedPeer;
  readonly #options: KeepAliveOptions;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(peer: PingedPeer, options: KeepAliveOptions, clock: Clock = systemClock) {
    this.#peer = peer;
    this.#options = options;
    this.#clock = clock;
    this.#rest();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #rest(): void {
    this.#wait(this.#options.intervalMs, () => this.#ping());
  }

  #ping(): void {
    this.#look(this.#peer.countBytes(), 0);
    this.#peer.ping(() => this.#rest());
  }

  /** Looks again and again until the answer comes. */
  #look(before: number, silentLooks: number): void {
    this.#wait(this.#options.timeoutMs / looksPerTimeout, () => {
      const now = this.#peer.countBytes();
      if (now > before) return this.#look(now, 0);
      if (silentLooks + 1 < looksPerTimeout) return this.#look(before, silentLooks + 1);
      this.stop();
      this.#peer.giveUp();
    });
  }

  /** One timer at a time. */
  #wait(delayMs: number, run: () => void): void {
    this.#cancel?.();
    if (!this.#isStopped) this.#cancel = this.#clock.setTimer(run, delayMs);
  }
}

/** Watches a session until it closes; `onDead` is called when the peer does not answer, and has to end the session. */
export function keepAlive(session: Http2Session, options: KeepAliveOptions, onDead: () => void): void {
  const watch = new KeepAlive(
    {
      ping: (onAnswer) => {
        // An error means that the session is over: it closes, and the watch ends.
        if (!session.destroyed) session.ping((error) => error === null && onAnswer());
      },
      countBytes: () => session.socket?.bytesRead ?? 0,
      giveUp: () => {
        if (!session.destroyed) onDead();
      },
    },
    options,
  );
  session.once('close', () => watch.stop());
}
