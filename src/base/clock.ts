// The clock that components are given, so that their tests need not wait.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once; the returned function cancels it. A timer does not keep the process alive. */
  setTimer(run: () => void, delayMs: number): () => void;
}

/** The longest delay that timers of Node support; longer ones would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(run, delayMs) {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), maxDelayMs)).unref();
    return () => clearTimeout(timer);
  },
};
