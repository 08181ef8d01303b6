// Limits one kind of work per turn of the event loop. Excess work waits for a later turn, in order, so that a flood of it does not delay other requests.

export class TurnBudget {
  readonly #perTurn: number;
  #used = 0;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** True when it may be done now. */
  take(): boolean {
    this.#schedule();
    if (this.#used >= this.#perTurn || this.#waiting.length > 0) return false;
    this.#used += 1;
    return true;
  }

  /** Does it in a later turn. The task must not throw. */
  wait(task: () => void): void {
    this.#schedule();
    this.#waiting.push(task);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(beginTurn, this);
  }

  /** @internal */
  beginTurn(): void {
    this.#isScheduled = false;
    this.#used = Math.min(this.#waiting.length, this.#perTurn);
    if (this.#used === 0) return;
    this.#schedule();
    for (const task of this.#waiting.splice(0, this.#used)) task();
  }
}

function beginTurn(budget: TurnBudget): void {
  budget.beginTurn();
}
