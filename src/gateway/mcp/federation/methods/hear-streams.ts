// Requests that several targets answer together: where one of them answers with an event stream, the client gets one, too.
import { PassedEvents } from '../passed-events.ts';
import { replaceMembers } from '../reconfigured-target.ts';
import type { Target, TargetEvents } from '../target.ts';
import type { MessageSink, SinkStream } from './federated-request.ts';

/** The same target; as soon as it answers with an event stream, the answer to the client is one. */
export function hearStreams(target: Target, { stream }: MessageSink): Target {
  if (stream === undefined) return target;
  return replaceMembers(target, {
    request: (speaker, message, events) => target.request(speaker, message, new HeardEvents(events, stream)),
  });
}

class HeardEvents extends PassedEvents {
  readonly #stream: SinkStream;

  constructor(events: TargetEvents, stream: SinkStream) {
    super(events);
    this.#stream = stream;
  }

  override onStream(): void {
    this.#stream.openStream();
  }
}
