// A clock that tests move by hand.
import type { Clock } from '../../src/base/clock.ts';

export interface ManualClock extends Clock {
  /** Moves time on, firing the timers that become due on the way, in order; lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Moves time on without firing a timer, as a machine that slept. */
  leap(ms: number): void;
  /** Delays until the timers that are set, soonest first. */
  pendingDelays(): number[];
}

/** Starts at a fixed time, so that a failure can be repeated. */
export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let nowMs = startMs;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const findNext = (untilMs: number): { readonly at: number; readonly run: () => void } | undefined =>
    [...timers].filter(({ at }) => at <= untilMs).toSorted((left, right) => left.at - right.at)[0];
  return {
    now: () => nowMs,
    setTimer(run, delayMs) {
      const timer = { at: nowMs + Math.max(delayMs, 0), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      for (let next = findNext(untilMs); next !== undefined; next = findNext(untilMs)) {
        timers.delete(next);
        nowMs = Math.max(nowMs, next.at);
        next.run();
        await settle();
      }
      nowMs = untilMs;
      await settle();
    },
    leap: (ms) => void (nowMs += ms),
    pendingDelays: () => [...timers].map(({ at }) => at - nowMs).toSorted((left, right) => left - right),
  };
}

/** Several turns of the event loop: enough for chains of promises that do no input or output. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
