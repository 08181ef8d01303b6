// The send queue of a stream, with backpressure: messages are taken out as the connection has room.

/** A queue that is read once, by `for await`. */
export class MessageQueue<M> implements AsyncIterable<M> {
  readonly #waiting: M[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  /** After `close` nothing is taken any more. */
  push(message: M): void {
    if (this.#isClosed) return;
    this.#waiting.push(message);
    this.#wake?.();
  }

  /** Replaces all waiting messages: for messages of which only the latest counts. */
  replace(message: M): void {
    this.#waiting.length = 0;
    this.push(message);
  }

  /** The reader comes to its end, after what still waits. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<M, void> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) {
        yield message;
      } else {
        if (this.#isClosed) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
