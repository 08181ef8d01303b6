// A clock that stands still until a test moves it.
import type { Clock } from '../../../../base/clock.ts';

export class TestClock implements Clock {
  nowMs = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>();

  now(): number {
    return this.nowMs;
  }

  setTimer(run: () => void, delayMs: number): () => void {
    const timer = { atMs: this.nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Milliseconds until each timer that is set, in order. */
  get pending(): readonly number[] {
    return [...this.#timers].map(({ atMs }) => atMs - this.nowMs).toSorted((left, right) => left - right);
  }

  /** Moves on, runs what is due, and lets what it started come to rest. */
  async advance(ms: number): Promise<void> {
    this.nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.atMs > this.nowMs) continue;
      this.#timers.delete(timer);
      timer.run();
    }
    await settle();
  }
}

/** Lets promises that wait for nothing but each other come to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
