// A target whose requests are counted and timed.
import { PassedEvents } from './passed-events.ts';
import type { Target, TargetCall, TargetEvents, TargetFailure, TargetMessage } from './target.ts';
import type { TargetResult } from './target-observer.ts';

/** The target, which reports how every request to it ends. */
export function watchTarget(target: Target, report: (result: TargetResult, seconds: number) => void): Target {
  return {
    get config() {
      return target.config;
    },
    describe: () => target.describe(),
    async introduce(speaker) {
      const startedAt = performance.now();
      const introduction = await target.introduce(speaker);
      report(introduction.ok ? 'answered' : introduction.failure.kind, (performance.now() - startedAt) / 1_000);
      return introduction;
    },
    request(speaker, message, events) {
      const watched = new WatchedCall(events, report);
      return watched.follow(target.request(speaker, message, watched));
    },
    resumeCall(speaker, place, events) {
      const watched = new WatchedCall(events, report);
      return watched.follow(target.resumeCall(speaker, place, watched));
    },
    notify: (speaker, text) => target.notify(speaker, text),
    listen: (speaker, filter, events) => target.listen(speaker, filter, events),
    endSession: (speaker) => target.endSession(speaker),
    onHealthChange: (listener) => target.onHealthChange(listener),
    close: () => target.close(),
  };
}

class WatchedCall extends PassedEvents implements TargetCall {
  readonly #report: (result: TargetResult, seconds: number) => void;
  readonly #startedAt = performance.now();
  #call: TargetCall | undefined;
  #isOver = false;

  constructor(events: TargetEvents, report: (result: TargetResult, seconds: number) => void) {
    super(events);
    this.#report = report;
  }

  /** Once. */
  follow(call: TargetCall): TargetCall {
    this.#call = call;
    return this;
  }

  resume(): void {
    this.#call!.resume();
  }

  abort(cancel: boolean): void {
    this.#finish('aborted');
    this.#call!.abort(cancel);
  }

  override onSuspend(): boolean {
    const isSuspended = super.onSuspend();
    if (isSuspended) this.#finish('answered');
    return isSuspended;
  }

  override onMessage(message: TargetMessage): boolean {
    if (message.kind === 'response') this.#finish('answered');
    return super.onMessage(message);
  }

  override onEnd(): void {
    this.#finish('answered');
    super.onEnd();
  }

  override onFailure(failure: TargetFailure): void {
    this.#finish(failure.kind);
    super.onFailure(failure);
  }

  /** Only the first end counts. */
  #finish(result: TargetResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#report(result, (performance.now() - this.#startedAt) / 1_000);
  }
}
