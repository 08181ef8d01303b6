// The HTTP answer to one request of a client: JSON, or an event stream as soon as the server has one or anything comes before the response.
import type { RawHeaders } from '../../../http/exchange.ts';
import type { UpstreamEvents } from '../../../forward/upstream/upstream-call.ts';
import { formatRpcAnswer } from '../../answer/rpc-error.ts';
import { readMember } from '../../names/message-head.ts';
import type { MessageSink, SinkStream } from './federated-request.ts';

const streamHeaders: RawHeaders = ['content-type', 'text/event-stream', 'cache-control', 'no-cache, no-transform'];
const none: RawHeaders = [];

export class ClientAnswer implements SinkStream {
  readonly #events: UpstreamEvents;
  /** Of the request: which types the client takes. */
  readonly #asked: RawHeaders;
  #state: 'waiting' | 'streaming' | 'over' = 'waiting';

  constructor(events: UpstreamEvents, asked: RawHeaders) {
    this.#events = events;
    this.#asked = asked;
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  get isStreaming(): boolean {
    return this.#state === 'streaming';
  }

  /** Nothing more is sent: the client is gone. */
  abort(): void {
    this.#state = 'over';
  }

  /** A whole answer without a message. */
  respondEmpty(status: number, headers: RawHeaders = none): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'over';
    this.#events.onHead(status, [...headers, 'content-length', '0']);
    this.#events.onEnd(none);
  }

  /** A whole answer with one message, or an array of them. Errors of HTTP are always JSON. */
  respond(json: string, status = 200, headers: RawHeaders = none): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'over';
    const { headers: typed, body } = formatRpcAnswer(status === 200 ? this.#asked : none, json);
    const bytes = Buffer.from(body);
    this.#events.onHead(status, [...typed, 'content-length', String(bytes.length), ...headers]);
    this.#events.onData(bytes);
    this.#events.onEnd(none);
  }

  openStream(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'streaming';
    this.#events.onHead(200, streamHeaders);
  }

  /** A message on the stream. False: wait for the client. */
  send(json: string, eventId?: string): boolean {
    const id = eventId === undefined ? '' : `id: ${eventId}\n`;
    return this.#write(`event: message\n${id}data: ${onLines(json)}\n\n`);
  }

  mark(eventId: string | undefined, retryMs: number | undefined): boolean {
    const retry = retryMs === undefined ? '' : `retry: ${retryMs}\n`;
    if (eventId !== undefined) return this.#write(`id: ${eventId}\n${retry}data: \n\n`);
    return this.#write(retry === '' ? ':\n\n' : `${retry}\n`);
  }

  #write(event: string): boolean {
    return this.#state !== 'streaming' || this.#events.onData(Buffer.from(event));
  }

  /** Ends the stream. */
  end(): void {
    if (this.#state !== 'streaming') return;
    this.#state = 'over';
    this.#events.onEnd(none);
  }
}

/** Between its tokens, JSON may have line ends; each line of data has a prefix of its own. */
function onLines(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/\r\n|\r|\n/g, '\ndata: ') : json;
}

/** For the one request of a body. */
export class SingleSink implements MessageSink {
  readonly #answer: ClientAnswer;
  readonly stream: SinkStream | undefined;
  readonly #isModern: boolean;

  constructor(answer: ClientAnswer, isModern: boolean, canStream: boolean) {
    this.#answer = answer;
    this.stream = canStream ? answer : undefined;
    this.#isModern = isModern;
  }

  tell(json: string, eventId?: string): boolean {
    // There is no place for it in JSON, and no request of a client depends on it.
    if (this.stream === undefined) return true;
    this.stream.openStream();
    return this.#answer.send(json, eventId);
  }

  answer(json: string, eventId?: string): void {
    if (this.#answer.isStreaming) {
      this.#answer.send(json, eventId);
      this.#answer.end();
    } else {
      this.#answer.respond(json, this.#isModern ? findStatus(json) : 200);
    }
  }
}

/** From 2026-07-28 on some errors have a status of HTTP. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['-32700', 400],
  ['-32600', 400],
  ['-32601', 404],
  ['-32020', 400],
  ['-32021', 400],
  ['-32022', 400],
]);

function findStatus(json: string): number {
  if (!json.includes('"error"')) return 200;
  const code = readMember(json, ['error', 'code']);
  return (code === undefined ? undefined : statuses.get(code)) ?? 200;
}

/** Whether the client takes an event stream. */
export function takesEvents(headers: RawHeaders): boolean {
  let isAsked = false;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'accept') continue;
    isAsked = true;
    if (/(?:text\/event-stream|text\/\*|\*\/\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headers[i + 1]!)) return true;
  }
  return !isAsked;
}
