// How much memory the bodies of requests may take together while they are read, judged and sent on. Each of them has its own limit, but there
// can be as many as there are connections, and clients that send slowly keep theirs for as long as they may.

/** Of one process: 64 of the largest messages, or very many of the usual size. */
export const maxHeldBytes = 256 * 1024 * 1024;

/** What one body takes of the budget. */
export interface BodyShare {
  /** It takes this much now. False: there is not so much left, and it takes what it took. */
  resize(bytes: number): boolean;
  /** It takes nothing any more, whatever is said of it later. */
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

  /** For a process that has only a part of the budget. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes;
  }

  /** A share for one more body; it takes nothing yet. */
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

/** The one of this process. */
export const bodyBudget = new BodyBudget(maxHeldBytes);
