// The timeout for answers of a picker.

/** Runs while it is told to; what it is for happens once. */
export class AnswerTimer {
  readonly #milliseconds: number;
  readonly #onTimeout: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, onTimeout: () => void) {
    this.#milliseconds = milliseconds;
    this.#onTimeout = onTimeout;
  }

  /** Goes on running, begins, or stops. */
  run(isRunning: boolean): void {
    if (!isRunning) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else {
      this.#timer ??= setTimeout(this.#onTimeout, this.#milliseconds);
    }
  }

  /** An answer came: from the beginning. */
  restart(): void {
    this.#timer?.refresh();
  }
}
