// One HTTP exchange with a target, as messages: what it sends one after the other, or the status with which it refuses.
import type { Endpoint } from '../../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import { findHeader, isEventStream } from '../../http/headers.ts';
import { GrowingBytes } from '../../../base/growing-bytes.ts';
import { cutText } from '../../../base/cut-text.ts';
import {
  DocumentReader,
  EventReader,
  type MessageReader,
  type ReadMessage,
  type ReadMessages,
  type StreamMark,
} from './read-messages.ts';
import type { ExchangeRequest, MessageEvents, MessageRequest, MessageSource, Refusal } from './message-source.ts';
import { type ExchangeEvents, TargetExchange } from './target-exchange.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { TargetFailure } from './target.ts';

/** Of the body of a refusal. */
const maxRefusalBytes = 65_536;

/** Sends a request, and reads what comes: as the answer, or on the one stream of the older transport. */
export function openMessages(parts: TargetParts, request: MessageRequest, events: MessageEvents): MessageSource {
  return request.channel?.open(request, events) ?? new MessageExchange(parts, request, events);
}

export class MessageExchange implements MessageSource, ExchangeEvents {
  readonly #exchange: TargetExchange;
  readonly #events: MessageEvents;
  #reader: MessageReader | undefined;
  #refusal: { status: number; headers: RawHeaders; body: GrowingBytes } | undefined;
  #queue: (ReadMessage | StreamMark)[] = [];
  #isPaused = false;
  #hasEnded = false;
  /** A body of a type that has no messages in it, as some servers send for notifications. */
  #isForeign = false;
  #isDone = false;

  constructor(parts: TargetParts, request: ExchangeRequest, events: MessageEvents) {
    this.#events = events;
    this.#exchange = new TargetExchange(parts, request, this);
  }

  /** Where the event stream that broke off can be taken up again. */
  get resumption(): { readonly lastEventId: string; readonly retryMs: number | undefined } | undefined {
    const reader = this.#reader;
    if (!(reader instanceof EventReader) || reader.lastEventId === undefined) return undefined;
    return { lastEventId: reader.lastEventId, retryMs: reader.retryMs };
  }

  start(): void {
    this.#exchange.start();
  }

  resume(): void {
    if (!this.#isPaused || this.#isDone) return;
    this.#isPaused = false;
    this.#deliver();
    if (this.#isPaused || this.#isDone) return;
    if (this.#hasEnded) this.#end();
    else this.#exchange.resume();
  }

  abort(): void {
    if (this.#isDone) return;
    this.#finish();
    this.#exchange.abort();
  }

  onHead(status: number, headers: RawHeaders, endpoint: Endpoint): void {
    if (this.#isDone) return;
    if (status < 200 || status > 299) {
      this.#refusal = { status, headers, body: new GrowingBytes(maxRefusalBytes) };
      return;
    }
    if (findHeader(headers, 'content-encoding') !== undefined)
      return this.#breakOff('answered with a content-encoding that it was not asked for');
    if (isEventStream(headers)) this.#reader = new EventReader((type, data) => this.#events.onOtherEvent?.(type, data));
    else if (isJson(headers)) this.#reader = new DocumentReader(readLength(headers));
    this.#events.onHead?.(status, headers, endpoint);
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#isDone) return true;
    const refusal = this.#refusal;
    if (refusal !== undefined) {
      if (refusal.body.size + chunk.length <= maxRefusalBytes) refusal.body.append(chunk);
      else {
        // Longer than any error: the status is all that counts.
        this.#exchange.abort();
        this.#refuse(refusal.status, refusal.headers, undefined);
      }
      return true;
    }
    if (this.#reader === undefined) {
      this.#isForeign = true;
      return true;
    }
    this.#take(this.#reader.push(chunk));
    return !this.#isPaused;
  }

  onEnd(): void {
    if (this.#isDone) return;
    const refusal = this.#refusal;
    if (refusal !== undefined) return this.#refuse(refusal.status, refusal.headers, refusal.body.take());
    if (this.#isForeign) return this.#breakOff('answered with something that is neither JSON nor an event stream');
    this.#hasEnded = true;
    if (this.#reader instanceof DocumentReader) this.#take(this.#reader.end());
    if (!this.#isPaused) this.#end();
  }

  onFailure(failure: TargetFailure, isUnsent: boolean): void {
    if (this.#isDone) return;
    const refusal = this.#refusal;
    if (refusal !== undefined) return this.#refuse(refusal.status, refusal.headers, undefined);
    this.#finish();
    this.#events.onFailure(failure, isUnsent);
  }

  #take(read: ReadMessages): void {
    if (!read.ok) return this.#breakOff(read.detail);
    if (read.messages.length === 0) return;
    this.#queue.push(...read.messages);
    if (!this.#isPaused) this.#deliver();
  }

  #deliver(): void {
    const queue = this.#queue;
    let next = 0;
    while (next < queue.length && !this.#isPaused && !this.#isDone) {
      const read = queue[next]!;
      next += 1;
      const isTaken = 'head' in read ? this.#events.onMessage(read) : (this.#events.onMark?.(read) ?? true);
      if (!isTaken) this.#isPaused = true;
    }
    this.#queue = next === queue.length ? [] : queue.slice(next);
  }

  #breakOff(detail: string): void {
    if (this.#isDone) return;
    this.#exchange.abort();
    this.#finish();
    this.#events.onFailure(fail('garbage', `it ${detail}`), false);
  }

  #refuse(status: number, headers: RawHeaders, body: Uint8Array | undefined): void {
    this.#finish();
    const message = body === undefined || body.length === 0 ? undefined : readOnly(body);
    this.#events.onRefusal({ status, headers, message, code: message === undefined ? undefined : readCode(message) });
  }

  #end(): void {
    if (this.#isDone) return;
    this.#finish();
    this.#events.onEnd();
  }

  #finish(): void {
    this.#isDone = true;
    this.#queue = [];
  }
}

function readLength(headers: RawHeaders): number | undefined {
  const length = findHeader(headers, 'content-length');
  return length === undefined ? undefined : Number(length);
}

function isJson(headers: RawHeaders): boolean {
  const type = findHeader(headers, 'content-type');
  return type !== undefined && /^application\/(?:[\w.+-]*\+)?json\s*(?:;|$)/i.test(type);
}

function readOnly(body: Uint8Array): ReadMessage | undefined {
  const reader = new DocumentReader();
  reader.push(body);
  const read = reader.end();
  const [message, ...others] = read.ok ? read.messages : [];
  const isOne = message !== undefined && others.length === 0;
  return isOne && 'head' in message && message.head.kind === 'response' ? message : undefined;
}

function readCode({ text }: ReadMessage): number | undefined {
  const { error } = JSON.parse(text) as { error?: { code?: unknown } | null };
  return typeof error?.code === 'number' ? error.code : undefined;
}

/** Characters of a server's own words that are kept. */
const maxWordsLength = 200;

/** The refusal as the client of a target hears of it. */
export function describeRefusal({ status, headers, message }: Refusal): TargetFailure {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2)
    if (/^(?:www-authenticate|retry-after)$/i.test(headers[i]!)) kept.push(headers[i]!, headers[i + 1]!);
  const words = message === undefined ? undefined : readWords(message);
  const said = words === undefined ? '' : `: ${cutText(words, maxWordsLength)}`;
  return { kind: 'refused', status, headers: kept, detail: `it answered ${status}${said}` };
}

function readWords({ text }: ReadMessage): string | undefined {
  const { error } = JSON.parse(text) as { error?: { message?: unknown } | null };
  return typeof error?.message === 'string' ? error.message : undefined;
}
