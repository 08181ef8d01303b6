// Reads the body of a request whose messages are judged: complete, within a size and time limit, and in a form that the server parses the same way.
import { GrowingBytes } from '../../../base/growing-bytes.ts';
import { findHeader } from '../../http/headers.ts';
import type { BodyFlow, BodySink, Exchange, RawHeaders } from '../../http/exchange.ts';
import type { Reason } from '../../http/reasons.ts';
import { type BodyBudget, bodyBudget, type BodyShare } from '../../http/body-budget.ts';
import { readFieldValues } from './field-values.ts';

export type MessageBody =
  /** `share`: the part of the memory budget that the bytes use until the request ends or the share is resized. */
  | { readonly ok: true; readonly bytes: Uint8Array; readonly share: Pick<BodyShare, 'resize'> }
  /** `detail` is for the operator's log. */
  | { readonly ok: false; readonly reason: Reason; readonly detail: string };

/** The size limit of a message. Tools take files by reference. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** From the head to the last byte. Slower clients would occupy memory that others need. */
const defaultTimeoutMs = 30_000;

const empty: MessageBody = { ok: true, bytes: new Uint8Array(0), share: { resize: () => true } };

/** Reads the whole body, or returns why not. Bytes after a refusal are discarded. */
export function readMessageBody(
  exchange: Pick<Exchange, 'hasBody' | 'headers' | 'readBody' | 'onClose'>,
  maxBytes: number = maxMessageBytes,
  timeoutMs: number = defaultTimeoutMs,
  budget: BodyBudget = bodyBudget,
): MessageBody | Promise<MessageBody> {
  if (!exchange.hasBody) return empty;
  const length = findHeader(exchange.headers, 'content-length');
  const expectedBytes = length === undefined ? undefined : Number(length);
  if (expectedBytes !== undefined && expectedBytes > maxBytes)
    return { ok: false, reason: 'body_too_large', detail: describeExcess(maxBytes) };
  return new Promise((resolve) => void new BodyReader(exchange, maxBytes, expectedBytes, timeoutMs, budget, resolve));
}

/** One body on its way in. */
class BodyReader implements BodySink {
  readonly #bytes: GrowingBytes;
  readonly #share: BodyShare;
  readonly #maxBytes: number;
  readonly #budget: BodyBudget;
  readonly #resolve: (body: MessageBody) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #flow: BodyFlow;
  #isOver = false;

  constructor(
    exchange: Pick<Exchange, 'readBody' | 'onClose'>,
    maxBytes: number,
    expectedBytes: number | undefined,
    timeoutMs: number,
    budget: BodyBudget,
    resolve: (body: MessageBody) => void,
  ) {
    this.#bytes = new GrowingBytes(maxBytes, expectedBytes);
    this.#share = budget.open();
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#refuse('body_timeout', `not complete after ${timeoutMs} ms`), timeoutMs);
    // Every request ends with this event, so its share of the budget is always returned.
    exchange.onClose(() => this.fail());
    this.#flow = exchange.readBody(this);
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    const bytes = this.#bytes;
    if (bytes.size + chunk.length > this.#maxBytes) this.#refuse('body_too_large', describeExcess(this.#maxBytes));
    else if (this.#share.resize(bytes.measure(chunk.length))) bytes.append(chunk);
    else this.#refuse('bodies_over_budget', `all bodies together take more than ${this.#budget.maxBytes} bytes`);
    return true;
  }

  end(): void {
    if (!this.#isOver) this.#settle({ ok: true, bytes: this.#bytes.take(), share: this.#share });
  }

  fail(): void {
    this.#forget();
    if (!this.#isOver) this.#settle(gone);
  }

  #refuse(reason: Reason, detail: string): void {
    this.#flow.discard();
    this.#forget();
    this.#settle({ ok: false, reason, detail });
  }

  #forget(): void {
    this.#bytes.take();
    this.#share.release();
  }

  #settle(body: MessageBody): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#resolve(body);
  }
}

const gone: MessageBody = { ok: false, reason: 'client_disconnected', detail: 'the request body broke off' };

function describeExcess(maxBytes: number): string {
  return `more than ${maxBytes} bytes`;
}

/**
 * Why the server may read other messages from the body than the gateway; undefined when it cannot. Servers choose their parser by
 * these fields: a form, UTF-16 or a compressed body would be another text to them.
 */
export function findUnreadableForm(headers: RawHeaders): string | undefined {
  const encodings = readFieldValues(headers, 'content-encoding');
  if (encodings.some((encoding) => encoding.trim().toLowerCase() !== 'identity')) return 'it has a content encoding';
  const types = readFieldValues(headers, 'content-type');
  if (types.length !== 1) return types.length === 0 ? 'it has no content type' : 'it has several content types';
  if (types[0] === 'application/json') return undefined;
  const [type, ...parameters] = types[0]!.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') return 'its content type is not application/json';
  const isForeign = parameters.some((parameter) => /^charset\s*=/.test(parameter) && !utf8.test(parameter));
  return isForeign ? 'its charset is not UTF-8' : undefined;
}

const utf8 = /^charset=(?:utf-8|utf8|"utf-8"|"utf8")$/;
