// Limits the memory that all request bodies together take while they are read, judged and forwarded. Each body has its own limit, but there can be
// as many bodies as connections, and a slow client holds its body until the timeout.

/** Per process: 64 of the largest messages, or very many of the usual size. */
export const maxHeldBytes = 256 * 1024 * 1024;

/** The share of one body in the budget. */
export interface BodyShare {
  /** Changes the size of the share. False: the budget has not enough left, and the share keeps its size. */
  resize(bytes: number): boolean;
  /** Gives the share back for good: later calls have no effect. */
  release(): void;
}

/** The budget of all bodies. */
export class BodyBudget {
  #maxBytes: number;
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Lowers the budget, for a worker process that gets only a part of it. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes;
  }

  /** A share for one more body, with size 0. */
  open(): BodyShare {
    let taken = 0;
    let isOver = false;
    return {
      resize: (bytes) => {
        if (isOver) return true;
        if (bytes > taken && this.#heldBytes + bytes - taken > this.#maxBytes) return false;
        this.#heldBytes += bytes - taken;
        taken = bytes;
        return true;
      },
      release: () => {
        isOver = true;
        this.#heldBytes -= taken;
        taken = 0;
      },
    };
  }
}

/** The budget of this process. */
export const bodyBudget = new BodyBudget(maxHeldBytes);
