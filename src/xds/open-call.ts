// One call on the server: it can be ended at any time, whatever it is waiting for.
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
    // Avoids an unhandled rejection if nothing waits.
    promise.catch(() => {});
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      this.end(reason instanceof ConnectError ? reason : new ConnectError('the connection was closed', Code.Canceled));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Why the call has ended; undefined: it is open. */
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

  /** Called once, immediately if the call has ended. For cleanup that must not depend on a generator that is no longer read. */
  onEnd(listener: (error: ConnectError) => void): void {
    if (this.#error === undefined) this.#onEnd.push(listener);
    else listener(this.#error);
  }

  /** Throws when the call ends first. */
  until<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#ended]);
  }

  /** Lets `sleep` return, now or as soon as it is called. */
  wake(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  /** Waits until `wake` is called or the call ends. */
  async sleep(): Promise<void> {
    if (!this.#isAwake) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#isAwake = false;
  }
}
