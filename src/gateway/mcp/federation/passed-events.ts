// What a call reports, as it is: for those who change a part of it.
import type { StreamMark } from './read-messages.ts';
import type { TargetEvents, TargetFailure, TargetMessage, TargetSession } from './target.ts';

/** The same events, with every member. A class: every call has several of these one behind the other, and closures for each would cost more than what they do. */
export class PassedEvents implements Required<TargetEvents> {
  protected readonly events: TargetEvents;

  constructor(events: TargetEvents) {
    this.events = events;
  }

  onMessage(message: TargetMessage): boolean {
    return this.events.onMessage(message);
  }

  onStream(session: TargetSession | undefined): void {
    this.events.onStream?.(session);
  }

  onMark(mark: StreamMark): boolean {
    return this.events.onMark?.(mark) ?? true;
  }

  onSuspend(): boolean {
    return this.events.onSuspend?.() ?? false;
  }

  onEnd(): void {
    this.events.onEnd();
  }

  onFailure(failure: TargetFailure): void {
    this.events.onFailure(failure);
  }
}
