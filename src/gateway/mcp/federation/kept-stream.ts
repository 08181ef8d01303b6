// A stream on which a server speaks on its own, opened again whenever it ends, until nobody listens any more.
import { type Backoff, createBackoff } from '../../../base/backoff.ts';
import { describeRefusal, openMessages } from './message-exchange.ts';
import type { MessageSource, Refusal } from './message-source.ts';
import type { ReadMessage } from './read-messages.ts';
import type { Prepared } from './target-call.ts';
import { fail, type TargetParts } from './target-parts.ts';
import { acknowledged } from './write-notifications.ts';
import type { TargetFailure } from './target.ts';

export interface StreamPlan {
  /** The request that opens it; `lastEventId`: where the stream before it broke off. */
  prepare(lastEventId: string | undefined): Prepared | Promise<Prepared>;
  /** Whether another `prepare` helps at once. */
  isLost(refusal: Refusal): boolean;
  /** It is open; `isResumed`: nothing was missed. */
  onOpen(isResumed: boolean): void;
  onMessage(message: ReadMessage): boolean;
  /** The server has no such stream. */
  onNone(): void;
  /** The client may not have it. */
  onRefused(failure: TargetFailure): void;
}

const firstDelayMs = 250;
const maxDelayMs = 30_000;
/** A stream that was open for so long was a good one, whether anything came on it or not. */
const goodMs = 10_000;
/** The server does not know streams: 405 by the specification, others by habit. */
const noStream: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 501]);

export class KeptStream {
  readonly #parts: TargetParts;
  readonly #plan: StreamPlan;
  readonly #backoff: Backoff;
  readonly #clock: () => number;
  #exchange: MessageSource | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEventId: string | undefined;
  #wasLost = false;
  #openedAtMs: number | undefined;
  #isClosed = false;

  constructor(parts: TargetParts, plan: StreamPlan) {
    this.#parts = parts;
    this.#plan = plan;
    this.#clock = parts.clock ?? (() => performance.now());
    this.#backoff = createBackoff({
      firstMs: firstDelayMs,
      maxMs: maxDelayMs,
      random: parts.random ?? Math.random,
      jitter: [0.5, 1],
    });
  }

  open(): void {
    this.#timer = undefined;
    const prepared = this.#plan.prepare(this.#lastEventId);
    if (prepared instanceof Promise)
      void prepared.then(
        (later) => this.#start(later),
        () => this.#again(),
      );
    else this.#start(prepared);
  }

  /** The target is back: there is no reason to wait. */
  hurry(): void {
    if (this.#timer === undefined || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.open();
  }

  resume(): void {
    if (!this.#isClosed) this.#exchange?.resume();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#exchange?.abort();
  }

  /** The stream is of no use any more; another one is opened after a while. */
  restart(): void {
    this.#exchange?.abort();
    this.#again();
  }

  #start(prepared: Prepared): void {
    if (this.#isClosed) return;
    if (!prepared.ok) {
      const { status } = prepared.failure;
      if (status === 401 || status === 403) return this.#refuse(prepared.failure);
      return this.#again();
    }
    const isResumed = this.#lastEventId !== undefined;
    const exchange = openMessages(this.#parts, prepared.request, {
      onHead: () => {
        this.#wasLost = false;
        this.#openedAtMs = this.#clock();
        if (!this.#isClosed) this.#plan.onOpen(isResumed);
      },
      onMessage: (message) => {
        if (this.#isClosed) return true;
        // An answer ends the stream, and an acknowledgement is no news.
        if (message.head.kind !== 'response' && message.head.method !== acknowledged) this.#backoff.reset();
        return this.#plan.onMessage(message);
      },
      onEnd: () => this.#again(),
      onRefusal: (refusal) => this.#onRefusal(refusal),
      onFailure: () => this.#again(),
    });
    this.#exchange = exchange;
    exchange.start();
  }

  #onRefusal(refusal: Refusal): void {
    if (this.#isClosed) return;
    const { status } = refusal;
    if (status === 401 || status === 403) return this.#refuse(describeRefusal(refusal));
    // The server has not seen yet that the stream before is gone, or another one is open.
    if (status === 409) return this.#again();
    // Where the stream before broke off is not known any more.
    const wasResuming = this.#lastEventId !== undefined;
    this.#lastEventId = undefined;
    if (this.#plan.isLost(refusal) && !this.#wasLost) {
      this.#wasLost = true;
      return this.open();
    }
    if (!wasResuming && noStream.has(status)) {
      this.#isClosed = true;
      return this.#plan.onNone();
    }
    this.#again();
  }

  #refuse(failure: TargetFailure): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#plan.onRefused(failure.kind === 'refused' ? failure : fail('no-answer', failure.detail));
  }

  #again(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    const resumption = this.#exchange?.resumption;
    if (resumption !== undefined) this.#lastEventId = resumption.lastEventId;
    this.#exchange = undefined;
    if (this.#openedAtMs !== undefined && this.#clock() - this.#openedAtMs >= goodMs) this.#backoff.reset();
    this.#openedAtMs = undefined;
    const delayMs = Math.max(this.#backoff.next(), Math.min(resumption?.retryMs ?? 0, maxDelayMs));
    this.#timer = setTimeout(() => this.open(), delayMs).unref();
  }
}
