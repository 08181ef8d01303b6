// What a call reports, as it is: for those who change a part of it.
import type { TargetEvents } from './target.ts';

/** The same events, with every member. */
export function passEvents(events: TargetEvents): Required<TargetEvents> {
  return {
    onMessage: (message) => events.onMessage(message),
    onStream: (session) => events.onStream?.(session),
    onMark: (mark) => events.onMark?.(mark) ?? true,
    onSuspend: () => events.onSuspend?.() ?? false,
    onEnd: () => events.onEnd(),
    onFailure: (failure) => events.onFailure(failure),
  };
}
