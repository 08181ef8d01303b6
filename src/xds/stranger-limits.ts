// Limits connections of unauthenticated peers ("strangers"), so that authorized ones keep theirs. A stranger has a few seconds, an address has a few strangers,
// and all strangers together have a share of the connections. A legitimate peer that is dropped reconnects after its backoff.
import type { Log } from '../base/log.ts';

export interface StrangerLimits {
  /** The time within which a peer on the connection must be authorized. */
  readonly authorizeMs: number;
  /** Connections of strangers from one address. Behind NAT many gateways may share an address, but they are authorized quickly. */
  readonly maxPerAddress: number;
  /** Of all of them. */
  readonly maxTotal: number;
}

export const defaultStrangerLimits: StrangerLimits = { authorizeMs: 10_000, maxPerAddress: 32, maxTotal: 1_024 };

/** The minimum interval between two log lines. */
const logGapMs = 60_000;

/** What this needs of a socket. */
interface StrangerSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Tracks connections until they are authorized. */
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

  /** Called for a new connection. It is destroyed if there are too many, or if it is not authorized in time. */
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
      this.#log.debug({ peerAddress: address }, 'closed a connection that was not authorized in time');
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

  /** Called when a peer on this connection was authorized. */
  trust(socket: Pick<StrangerSocket, 'remoteAddress' | 'remotePort'>): void {
    this.#strangers.get(formatKey(socket))?.();
  }

  /** Called when a connection was dropped. Logged once, and then with the count. */
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
      'connections to the xDS port were dropped: too many unauthenticated peers',
    );
    this.#dropped = 0;
    this.#logTimer = setTimeout(() => this.#tellDrops(), logGapMs).unref();
  }
}

function formatKey({ remoteAddress, remotePort }: Pick<StrangerSocket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}
