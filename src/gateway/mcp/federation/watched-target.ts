// A target whose requests are counted and timed.
import type { Target, TargetCall, TargetEvents } from './target.ts';
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
      const watched = new WatchedEvents(events, report);
      return watched.follow(target.request(speaker, message, watched));
    },
    resumeCall(speaker, place, events) {
      const watched = new WatchedEvents(events, report);
      return watched.follow(target.resumeCall(speaker, place, watched));
    },
    notify: (speaker, text) => target.notify(speaker, text),
    listen: (speaker, filter, events) => target.listen(speaker, filter, events),
    endSession: (speaker) => target.endSession(speaker),
    onHealthChange: (listener) => target.onHealthChange(listener),
    close: () => target.close(),
  };
}

class WatchedEvents implements Required<TargetEvents> {
  readonly #events: TargetEvents;
  readonly #report: (result: TargetResult, seconds: number) => void;
  readonly #startedAt = performance.now();
  #isOver = false;

  constructor(events: TargetEvents, report: (result: TargetResult, seconds: number) => void) {
    this.#events = events;
    this.#report = report;
  }

  readonly onStream: Required<TargetEvents>['onStream'] = (session) => this.#events.onStream?.(session);

  readonly onMark: Required<TargetEvents>['onMark'] = (mark) => this.#events.onMark?.(mark) ?? true;

  readonly onSuspend: Required<TargetEvents>['onSuspend'] = () => {
    const isSuspended = this.#events.onSuspend?.() ?? false;
    if (isSuspended) this.end('answered');
    return isSuspended;
  };

  readonly onMessage: TargetEvents['onMessage'] = (message) => {
    if (message.kind === 'response') this.end('answered');
    return this.#events.onMessage(message);
  };

  readonly onEnd: TargetEvents['onEnd'] = () => {
    this.end('answered');
    this.#events.onEnd();
  };

  readonly onFailure: TargetEvents['onFailure'] = (failure) => {
    this.end(failure.kind);
    this.#events.onFailure(failure);
  };

  follow(call: TargetCall): TargetCall {
    return {
      resume: () => call.resume(),
      abort: (cancel) => {
        this.end('aborted');
        call.abort(cancel);
      },
    };
  }

  /** Only the first end counts. */
  end(result: TargetResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#report(result, (performance.now() - this.#startedAt) / 1_000);
  }
}
