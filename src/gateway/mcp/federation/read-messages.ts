// The body of an answer -> whole JSON-RPC messages: one JSON document, or the events of a stream. Strict: what is no message ends the reading.
import { GrowingBytes } from '../../../base/growing-bytes.ts';
import { isNestedDeeper, skipSpace, walkElements, walkValue } from '../../../base/json-text.ts';
import { decodeData, readEventData, splitEventLines } from '../answer/event-stream-event.ts';
import { EventSplitter } from '../answer/event-stream-splitter.ts';
import { type MessageHead, readMessageHead } from '../names/message-head.ts';

/** Bytes of one message, or of one JSON document. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** What is parsed is also written again here and there, and deeper values cannot be. */
const maxDepth = 512;
/** Of an event id, which is sent back in a header. */
const maxEventIdLength = 1_024;
/** Messages in one array of 2025-03-26. */
const maxBatchSize = 100;

/** A message as the server wrote it. */
export interface ReadMessage {
  readonly text: string;
  readonly head: MessageHead;
  /** The id of the event that brought it; of several messages in one event, the last one has it, because what follows the id follows them all. */
  readonly eventId: string | undefined;
}

/** What an event says without a message: where the stream can be taken up again, and how long to wait before that. Neither: the server is alive. */
export interface StreamMark {
  readonly eventId: string | undefined;
  readonly retryMs: number | undefined;
}

export type ReadMessages =
  /** In the order of the stream. */
  | { readonly ok: true; readonly messages: readonly (ReadMessage | StreamMark)[] }
  /** `detail` completes "it ..."; it never quotes the server. */
  | { readonly ok: false; readonly detail: string };

export interface MessageReader {
  push(chunk: Uint8Array): ReadMessages;
  /** The body has ended. */
  end(): ReadMessages;
}

const none: ReadMessages = { ok: true, messages: [] };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** One document: a message, or an array of them. */
export class DocumentReader implements MessageReader {
  readonly #bytes: GrowingBytes;

  /** `announced`: bytes, as the server says; undefined: it does not say. */
  constructor(announced?: number) {
    this.#bytes = new GrowingBytes(maxMessageBytes, announced);
  }

  push(chunk: Uint8Array): ReadMessages {
    if (this.#bytes.size + chunk.length > maxMessageBytes) return tooLarge;
    this.#bytes.append(chunk);
    return none;
  }

  end(): ReadMessages {
    let text: string;
    try {
      text = utf8.decode(this.#bytes.take());
    } catch {
      return { ok: false, detail: 'answered with bytes that are not UTF-8' };
    }
    return readDocument(text, undefined);
  }
}

/** The events of a stream. */
export class EventReader implements MessageReader {
  readonly #splitter = new EventSplitter();
  readonly #onOtherEvent: ((type: string, data: string) => void) | undefined;
  #isFirst = true;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;

  /** `onOtherEvent` gets events of other types than `message`. */
  constructor(onOtherEvent?: (type: string, data: string) => void) {
    this.#onOtherEvent = onOtherEvent;
  }

  /** Where a stream that broke off can be taken up again. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** How long to wait before that. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  push(chunk: Uint8Array): ReadMessages {
    let messages: (ReadMessage | StreamMark)[] | undefined;
    for (const event of this.#splitter.push(chunk)) {
      if (event.length > maxMessageBytes) return tooLarge;
      const read = this.#readEvent(event);
      if (!read.ok) return read;
      if (read.messages.length > 0) (messages ??= []).push(...read.messages);
    }
    if (this.#splitter.heldBytes > maxMessageBytes) return tooLarge;
    return messages === undefined ? none : { ok: true, messages };
  }

  /** An event without its blank line does not count. */
  end(): ReadMessages {
    return none;
  }

  #readEvent(event: Uint8Array): ReadMessages {
    const text = Buffer.from(event.buffer, event.byteOffset, event.length).toString('latin1');
    const lines = splitEventLines(text);
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    let type = 'message';
    let eventId: string | undefined;
    let retryMs: number | undefined;
    for (const line of lines) {
      const field = /^(event|id|retry)(?::[ ]?([^\r\n]*))?[\r\n]*$/.exec(line);
      if (field === null) continue;
      const value = field[2] ?? '';
      if (field[1] === 'event') type = value === '' ? 'message' : value;
      else if (field[1] === 'retry') retryMs = /^\d{1,9}$/.test(value) ? Number(value) : retryMs;
      else if (/^[\x20-\x7e]*$/.test(value) && value.length <= maxEventIdLength) {
        eventId = value || undefined;
        this.#lastEventId = eventId;
      }
    }
    this.#retryMs = retryMs ?? this.#retryMs;
    const bytes = readEventData(lines, isFirst);
    // A beat, or an event that only tells where to resume.
    if (bytes === undefined || bytes === '') return { ok: true, messages: [{ eventId, retryMs }] };
    const data = decodeData(bytes);
    if (data === undefined) return { ok: false, detail: 'sent an event that is not UTF-8' };
    if (type === 'message') return markRetry(readDocument(data, eventId), retryMs);
    this.#onOtherEvent?.(type, data);
    return none;
  }
}

const tooLarge: ReadMessages = { ok: false, detail: `sent a message of more than ${maxMessageBytes} bytes` };
const notMessage: ReadMessages = { ok: false, detail: 'sent what is no JSON-RPC message' };

/** The time comes first: with the last message the stream may be over. */
function markRetry(read: ReadMessages, retryMs: number | undefined): ReadMessages {
  if (!read.ok || retryMs === undefined) return read;
  return { ok: true, messages: [{ eventId: undefined, retryMs }, ...read.messages] };
}

function readDocument(text: string, eventId: string | undefined): ReadMessages {
  // The grammar: what is spliced together from texts must be JSON.
  try {
    JSON.parse(text);
  } catch {
    return { ok: false, detail: 'sent what is not JSON' };
  }
  if (isNestedDeeper(text, maxDepth))
    return { ok: false, detail: `sent JSON that is nested more than ${maxDepth} deep` };
  const start = skipSpace(text, 0);
  if (text[start] !== '[') {
    const head = readMessageHead(text);
    return head === undefined ? notMessage : { ok: true, messages: [{ text, head, eventId }] };
  }
  const messages: ReadMessage[] = [];
  let isValid = true;
  walkElements(text, start, (at) => {
    const end = walkValue(text, at);
    const element = text.slice(at, end);
    const head = messages.length < maxBatchSize ? readMessageHead(element) : undefined;
    if (head === undefined) isValid = false;
    else messages.push({ text: element, head, eventId: undefined });
    return end;
  });
  const last = messages.pop();
  return isValid && last !== undefined ? { ok: true, messages: [...messages, { ...last, eventId }] } : notMessage;
}
