// One request of a client at a target: sent, sent once more where the plan says so, and its messages one by one until the answer.
import { SilenceWatch, type Watched } from '../../forward/upstream/silence-watch.ts';
import { describeRefusal, openMessages } from './message-exchange.ts';
import { isEventStream } from '../../http/headers.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { MessageEvents, MessageRequest, MessageSource, Refusal } from './message-source.ts';
import type { ReadMessage, StreamMark } from './read-messages.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { TargetCall, TargetEvents, TargetFailure, TargetMessage, TargetSession } from './target.ts';

/** What is to be sent, or why nothing can be. */
export type Prepared =
  | { readonly ok: true; readonly request: MessageRequest }
  | { readonly ok: false; readonly failure: TargetFailure };

/** How a request is spoken in one era. */
export interface CallPlan {
  /** JSON of the id on the way to the server. */
  readonly id: string;
  /** It is the rest of a stream, after this event; undefined: the stream begins with it. */
  readonly resumedAfter?: string | undefined;
  prepare(): Prepared | Promise<Prepared>;
  /**
   * Another try, after a refusal or a request that never left; undefined: there is none. Asked once, and only while nothing of an answer was seen.
   */
  prepareAgain(refusal: Refusal | undefined): Promise<Prepared> | undefined;
  /** What the client learns when the answer is an event stream: in which session it can be resumed. Undefined: nothing, it gets the messages. */
  describeStream(): { readonly session: TargetSession | undefined } | undefined;
  /** The message as the client gets it; undefined: it is not for the client. */
  translate(message: ReadMessage): TargetMessage | undefined;
  /** Takes up a stream that ended before the answer; undefined: it cannot be taken up. */
  resumeAfter(lastEventId: string): MessageRequest | undefined;
  /** Tells the server that the client does not want the answer. */
  cancel(): void;
  /** The end, however it came. */
  release(): void;
}

/** How long a server may take to end a stream after its answer, before the connection is closed. */
const drainMs = 1_000;
const draining = new SilenceWatch(drainMs);
/** Streams of one call that may end early, one after the other, without anything new in them. */
const maxEmptyResumptions = 3;
const defaultRetryMs = 1_000;
const maxRetryMs = 30_000;
/** How often a server may say that it still has the connection that broke (409). */
const maxConflicts = 5;
const firstConflictMs = 100;
const endedEarly = fail('no-answer', 'its answer ended before there was one');

/** Statuses that say something about the caller or the way, whatever the body says. */
export const plainRefusals: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);

export class RunningCall implements TargetCall, MessageEvents, Watched {
  place = -1;
  silentLooks = 0;
  readonly #parts: TargetParts;
  readonly #events: TargetEvents;
  #plan: CallPlan | undefined;
  #exchange: MessageSource | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSecond = false;
  #hasSeen = false;
  #resumptions = 0;
  #conflicts = 0;
  /** The event after which the stream goes on; undefined: it has not been taken up. */
  #resumedAfter: string | undefined;
  #retryMs = defaultRetryMs;
  /** What is being read is a stream, of which the client knows. */
  #isStreaming = false;
  #isDone = false;

  constructor(parts: TargetParts, events: TargetEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** Once. */
  run(plan: CallPlan): void {
    if (this.#isDone) return plan.release();
    this.#plan = plan;
    this.#resumedAfter = plan.resumedAfter;
    this.#hasSeen = plan.resumedAfter !== undefined;
    this.#send(plan.prepare());
  }

  /** It ends before anything is sent; later, not from inside. */
  fail(failure: TargetFailure): void {
    queueMicrotask(() => this.#fail(failure));
  }

  /** It is answered here; later, not from inside. */
  answer(message: TargetMessage): void {
    queueMicrotask(() => {
      if (this.#isDone) return;
      this.#finish();
      this.#events.onMessage(message);
      this.#events.onEnd();
    });
  }

  resume(): void {
    if (!this.#isDone) this.#exchange?.resume();
  }

  abort(cancel: boolean): void {
    if (this.#isDone) return;
    // Before the exchange is closed, so that a server that cancels on both has heard it first.
    if (cancel && this.#exchange !== undefined) this.#plan?.cancel();
    this.#finish();
    this.#exchange?.abort();
  }

  /** The client has said that it does not want the answer any more: it ends without one. */
  end(): void {
    if (this.#isDone) return;
    this.abort(true);
    this.#events.onEnd();
  }

  /** The server has not ended its stream after the answer. */
  onSilence(): void {
    this.#exchange?.abort();
    draining.end(this);
  }

  #send(prepared: Prepared | Promise<Prepared>): void {
    if (prepared instanceof Promise)
      void prepared.then(
        (later) => this.#send(later),
        (error: unknown) => this.failInside(error),
      );
    else if (this.#isDone) return;
    else if (prepared.ok) this.#open(prepared.request);
    else this.fail(prepared.failure);
  }

  /** A bug of the gateway fails one request. */
  failInside(error: unknown): void {
    this.#parts.log.error({ target: this.#parts.config.name, err: error }, 'a request to a target failed inside');
    this.#fail(fail('garbage', 'the gateway failed to prepare the request'));
  }

  #open(request: MessageRequest): void {
    this.#isStreaming = false;
    const exchange = openMessages(this.#parts, request, this);
    this.#exchange = exchange;
    exchange.start();
  }

  onHead(_status: number, headers: RawHeaders): void {
    if (!isEventStream(headers)) return;
    const stream = this.#isDone ? undefined : this.#plan!.describeStream();
    if (stream === undefined) return;
    this.#isStreaming = true;
    this.#events.onStream?.(stream.session);
  }

  onMark(mark: StreamMark): boolean {
    return this.#isDone || !this.#isStreaming || (this.#events.onMark?.(mark) ?? true);
  }

  onMessage(message: ReadMessage): boolean {
    if (this.#isDone) return true;
    const { kind, id } = message.head;
    if (kind === 'response') {
      if (id === undefined) {
        this.#exchange!.abort();
        this.#fail(fail('garbage', 'it answered with an error that has no id'));
        return true;
      }
      if (id !== this.#plan!.id) {
        const { log, config } = this.#parts;
        log.debug({ target: config.name }, 'a target answered what nobody asked');
        return true;
      }
      this.#answer(message);
      return true;
    }
    this.#hasSeen = true;
    const translated = this.#plan!.translate(message);
    return translated === undefined || this.#events.onMessage(translated);
  }

  #answer(message: ReadMessage): void {
    const translated = this.#plan!.translate(message);
    if (translated !== undefined) this.#events.onMessage(translated);
    if (this.#isDone) return;
    // A connection whose stream ends by itself can be used again.
    draining.begin(this);
    this.#finish();
    this.#events.onEnd();
  }

  onEnd(): void {
    this.#endEarly(endedEarly, true);
  }

  /** `isClosed`: by the server, not by a fault on the way. */
  #endEarly(failure: TargetFailure, isClosed: boolean): void {
    if (this.#isDone) return draining.end(this);
    const { lastEventId: after = this.#resumedAfter, retryMs = this.#retryMs } = this.#exchange!.resumption ?? {};
    const request = after === undefined ? undefined : this.#plan!.resumeAfter(after);
    if (request === undefined) return this.#fail(failure);
    if (isClosed && this.#isStreaming && this.#events.onSuspend?.() === true) return this.#finish();
    this.#resumptions = after === this.#resumedAfter ? this.#resumptions + 1 : 0;
    this.#resumedAfter = after;
    this.#retryMs = retryMs;
    if (this.#resumptions >= maxEmptyResumptions) return this.#fail(failure);
    this.#hasSeen = true;
    this.#openLater(request, Math.min(retryMs, maxRetryMs));
  }

  #openLater(request: MessageRequest, delayMs: number): void {
    this.#timer = setTimeout(() => this.#open(request), delayMs).unref();
  }

  onRefusal(refusal: Refusal): void {
    if (this.#isDone) return draining.end(this);
    const { message, status } = refusal;
    if (status === 409 && this.#waitForServer()) return;
    const isAnswer = message !== undefined && message.head.id === this.#plan!.id && !plainRefusals.has(status);
    if (!this.#repeat(refusal)) {
      if (isAnswer) this.#answerRefused(message);
      else this.#fail(describeRefusal(refusal));
    }
  }

  /** Where a stream goes on, the server may not have seen yet that the connection before is gone. False: it has had the time for it. */
  #waitForServer(): boolean {
    const after = this.#resumedAfter;
    const request = after === undefined ? undefined : this.#plan!.resumeAfter(after);
    if (request === undefined || this.#conflicts === maxConflicts) return false;
    this.#openLater(request, firstConflictMs * 2 ** this.#conflicts);
    this.#conflicts += 1;
    return true;
  }

  /** The answer is an error, and the server says so in the status too. */
  #answerRefused(message: ReadMessage): void {
    const translated = this.#plan!.translate(message);
    this.#finish();
    if (translated !== undefined) this.#events.onMessage(translated);
    this.#events.onEnd();
  }

  onFailure(failure: TargetFailure, isUnsent: boolean): void {
    if (this.#isDone) return draining.end(this);
    if (isUnsent && this.#repeat(undefined)) return;
    if (failure.kind === 'no-answer') return this.#endEarly(failure, false);
    this.#fail(failure);
  }

  #repeat(refusal: Refusal | undefined): boolean {
    if (this.#isSecond || this.#hasSeen) return false;
    const again = this.#plan!.prepareAgain(refusal);
    if (again === undefined) return false;
    this.#isSecond = true;
    this.#send(again);
    return true;
  }

  #fail(failure: TargetFailure): void {
    if (this.#isDone) return;
    this.#finish();
    this.#events.onFailure(failure);
  }

  #finish(): void {
    this.#isDone = true;
    clearTimeout(this.#timer);
    this.#plan?.release();
  }
}
