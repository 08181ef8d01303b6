// One call as the server sees it: it can be ended from here, whatever it is waiting for at the moment.
import { Code, ConnectError } from '@connectrpc/connect';

export class OpenCall {
  readonly #rejectEnded: (error: ConnectError) => void;
  readonly #ended: Promise<never>;
  readonly #onEnd: ((error: ConnectError) => void)[] = [];
  #error: ConnectError | undefined;
  #wake: (() => void) | undefined;
  #isAwake = false;

  constructor(signal: AbortSignal) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#ended = promise;
    this.#rejectEnded = reject;
    // Nobody may be waiting.
    promise.catch(() => {});
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      this.end(reason instanceof ConnectError ? reason : new ConnectError('the connection was closed', Code.Canceled));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Why it is over; undefined: it is not. */
  get error(): ConnectError | undefined {
    return this.#error;
  }

  /** The first reason counts. */
  end(error: ConnectError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#rejectEnded(error);
    this.wake();
    for (const listener of this.#onEnd) listener(error);
  }

  /** Called once, at once if the call is over. What is to be cleaned up must not wait for a generator that nobody pulls any more. */
  onEnd(listener: (error: ConnectError) => void): void {
    if (this.#error === undefined) this.#onEnd.push(listener);
    else listener(this.#error);
  }

  /** Throws when the call ends first. */
  until<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#ended]);
  }

  /** Has `sleep` return, now or at once when it is called. */
  wake(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  /** Waits until somebody calls `wake`, or the call is over. */
  async sleep(): Promise<void> {
    if (!this.#isAwake) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#isAwake = false;
  }
}
