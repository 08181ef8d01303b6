// Targets that let a list wait until its time was over. For a while the next lists do without them at once: a server that hangs must not make every list slow.
import { replaceMembers } from './reconfigured-target.ts';
import type { Target, TargetCall, TargetEvents } from './target.ts';

const rememberMs = 30_000;

export class SlowTargets {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** It has not answered in time. */
  note(target: string): void {
    this.#until.set(target, this.#now() + rememberMs);
  }

  /** It is another one now, or it has come back. */
  forget(target: string): void {
    this.#until.delete(target);
  }

  /** The same target; one that was slow a moment ago fails instead of being asked. */
  pass(target: Target): Target {
    const until = this.#until.get(target.config.name);
    if (until === undefined) return target;
    if (until > this.#now()) return replaceMembers(target, { request: (_speaker, _message, events) => refuse(events) });
    this.#until.delete(target.config.name);
    return target;
  }
}

function refuse(events: TargetEvents): TargetCall {
  let isOver = false;
  queueMicrotask(() => {
    const detail = 'it did not answer a moment ago, and is asked again later';
    if (!isOver) events.onFailure({ kind: 'timeout', status: undefined, headers: [], detail });
  });
  return { resume() {}, abort: () => void (isOver = true) };
}
