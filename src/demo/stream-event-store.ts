// Remembers the events of one MCP session, so that a client that lost a stream can take it up again with Last-Event-ID.
import type { EventId, EventStore, JSONRPCMessage, StreamId } from '@modelcontextprotocol/server';

/** Thrown when a client asks to resume after an event that this session never sent, or no longer remembers. */
export class UnknownEventError extends Error {
  readonly code = 'UNKNOWN_EVENT';
}

interface StoredEvent {
  readonly number: number;
  readonly streamId: StreamId;
  readonly message: JSONRPCMessage;
}

/** The most events that one session keeps. Older ones are forgotten, and resuming from before them is refused. */
export const rememberedEvents = 1_000;

/** An event store in memory for one session: bounded, ordered, and exact about what it can still replay. */
export class StreamEventStore implements EventStore {
  readonly #events: StoredEvent[] = [];
  #last = 0;

  /** Remembers one message of one stream and names it. */
  storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId> {
    this.#last += 1;
    this.#events.push({ number: this.#last, streamId, message });
    if (this.#events.length > rememberedEvents) this.#events.shift();
    return Promise.resolve(`${streamId}:${this.#last}`);
  }

  /** Sends what followed the named event on the same stream, in order, and says which stream that was. */
  async replayEventsAfter(
    lastEventId: EventId,
    { send }: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const separator = lastEventId.lastIndexOf(':');
    const streamId = lastEventId.slice(0, separator);
    const number = Number(lastEventId.slice(separator + 1));
    const start = this.#events.findIndex((event) => event.number === number && event.streamId === streamId);
    if (start === -1) throw new UnknownEventError(`There is no event ${lastEventId} to resume from.`);
    // The list may grow while an event is sent. Reading its length every time keeps the new ones in the replay; the
    // transport drops the copy that it would have sent itself.
    for (let index = start + 1; index < this.#events.length; index += 1) {
      const event = this.#events[index]!;
      // The first event of a stream carries no message: it only gives the client an id to resume from.
      if (event.streamId !== streamId || !('jsonrpc' in event.message)) continue;
      await send(`${event.streamId}:${event.number}`, event.message);
    }
    return streamId;
  }
}
