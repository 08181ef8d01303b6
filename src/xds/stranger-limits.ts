// Bounds what those who have not said who they are can take from those who have: connections. A stranger has a few seconds, an address has a few strangers,
// and all strangers together have a part of the places. Who is turned away without a reason of its own comes back, after its back-off.
import type { Log } from '../base/log.ts';

export interface StrangerLimits {
  /** Until somebody on the connection must have been let in. */
  readonly authorizeMs: number;
  /** Connections of strangers from one address. Where addresses are translated, many gateways may come from one; they are no strangers for long. */
  readonly maxPerAddress: number;
  /** Of all of them. */
  readonly maxTotal: number;
}

export const defaultStrangerLimits: StrangerLimits = { authorizeMs: 10_000, maxPerAddress: 32, maxTotal: 1_024 };

/** Between two lines in the log. */
const logGapMs = 60_000;

/** What this needs of a socket. */
export interface StrangerSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Lets connections in, and out again. */
export class StrangerDoor {
  readonly #limits: StrangerLimits;
  readonly #log: Log;
  /** By address. */
  readonly #counts = new Map<string, number>();
  /** By address and port. */
  readonly #strangers = new Map<string, () => void>();
  #dropped = 0;
  #logTimer: NodeJS.Timeout | undefined;

  constructor(limits: StrangerLimits, log: Log) {
    this.#limits = limits;
    this.#log = log;
  }

  /** A new connection. It is destroyed if there are too many, or when nobody vouches for it in time. */
  admit(socket: StrangerSocket): void {
    const address = socket.remoteAddress ?? '';
    const key = formatKey(socket);
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#limits.maxPerAddress || this.#strangers.size >= this.#limits.maxTotal) {
      this.noteDrop(address);
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => {
      this.#log.debug({ peerAddress: address }, 'a connection did not say who it is in time, and is closed');
      socket.destroy();
    }, this.#limits.authorizeMs).unref();
    this.#counts.set(address, count + 1);
    this.#strangers.set(key, () => {
      clearTimeout(timer);
      this.#strangers.delete(key);
      const left = this.#counts.get(address)! - 1;
      if (left === 0) this.#counts.delete(address);
      else this.#counts.set(address, left);
    });
    socket.once('close', () => this.#strangers.get(key)?.());
  }

  /** Somebody was let in who came over this connection. */
  trust(socket: Pick<StrangerSocket, 'remoteAddress' | 'remotePort'>): void {
    this.#strangers.get(formatKey(socket))?.();
  }

  /** A connection was turned away. The log says so once, and then how many there were. */
  noteDrop(peerAddress: string): void {
    this.#dropped += 1;
    if (this.#logTimer === undefined) this.#tellDrops(peerAddress);
  }

  close(): void {
    clearTimeout(this.#logTimer);
  }

  #tellDrops(peerAddress?: string): void {
    this.#logTimer = undefined;
    if (this.#dropped === 0) return;
    this.#log.warn(
      { dropped: this.#dropped, ...(peerAddress !== undefined && { peerAddress }) },
      'connections to the xDS port were dropped: there are too many of peers that are not known',
    );
    this.#dropped = 0;
    this.#logTimer = setTimeout(() => this.#tellDrops(), logGapMs).unref();
  }
}

function formatKey({ remoteAddress, remotePort }: Pick<StrangerSocket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}
