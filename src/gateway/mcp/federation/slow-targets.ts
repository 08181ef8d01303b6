// Targets that let a request to all of them wait until its time was over. For a while the next ones do without them at once: a server that hangs must not make every list slow.
import { replaceMembers } from './reconfigured-target.ts';
import type { Target, TargetCall, TargetEvents } from './target.ts';

/** How long all targets together may take for one request. A server that hangs is one that is missing. */
export const togetherMs = 15_000;

const rememberMs = 30_000;

/** What all targets are asked together. */
export type AskedOfAll = 'lists' | 'logging/setLevel' | 'tasks/list';

export class SlowTargets {
  /** A server may hang on a level of logs and have its tools all the same. */
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** It has not answered in time. */
  note(target: string, asked: AskedOfAll): void {
    this.#until.set(formatKey(target, asked), this.#now() + rememberMs);
  }

  /** It is another one now, or it has come back. */
  forget(target: string): void {
    for (const key of this.#until.keys()) if (key.startsWith(`${target}\0`)) this.#until.delete(key);
  }

  /** The same target; one that was slow with this a moment ago fails instead of being asked. */
  pass(target: Target, asked: AskedOfAll): Target {
    const key = formatKey(target.config.name, asked);
    const until = this.#until.get(key);
    if (until === undefined) return target;
    if (until > this.#now()) return replaceMembers(target, { request: (_speaker, _message, events) => refuse(events) });
    this.#until.delete(key);
    return target;
  }
}

function formatKey(target: string, asked: AskedOfAll): string {
  return `${target}\0${asked}`;
}

function refuse(events: TargetEvents): TargetCall {
  let isOver = false;
  queueMicrotask(() => {
    const detail = 'it did not answer a moment ago, and is asked again later';
    if (!isOver) events.onFailure({ kind: 'timeout', status: undefined, headers: [], detail });
  });
  return { resume() {}, abort: () => void (isOver = true) };
}
