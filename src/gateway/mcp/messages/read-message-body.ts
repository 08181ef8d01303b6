// The body of a request whose messages are judged: whole, within a limit and a time, and in a form that the server reads the same way.
import { GrowingBytes } from '../../../base/growing-bytes.ts';
import { findHeader } from '../../forward/headers.ts';
import type { Exchange, RawHeaders } from '../../listen/exchange.ts';
import type { Reason } from '../../reasons.ts';
import { type BodyBudget, bodyBudget, type BodyShare } from './body-budget.ts';
import { readFieldValues } from './field-values.ts';

export type MessageBody =
  /** `share`: what the bytes take of the budget until the request is over, or it is said that they take less. */
  | { readonly ok: true; readonly bytes: Uint8Array; readonly share: Pick<BodyShare, 'resize'> }
  /** `detail` is for the operator's log. */
  | { readonly ok: false; readonly reason: Reason; readonly detail: string };

/** What a message may have. Tools that take files take them by reference. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** From the head to the last byte. A client that takes longer keeps up to that much memory from others. */
const defaultTimeoutMs = 30_000;

const empty: MessageBody = { ok: true, bytes: new Uint8Array(0), share: { resize: () => true } };

/** Reads the whole body, or says why not. What comes after a refusal is thrown away. */
export function readMessageBody(
  exchange: Pick<Exchange, 'hasBody' | 'headers' | 'readBody' | 'onClose'>,
  maxBytes: number = maxMessageBytes,
  timeoutMs: number = defaultTimeoutMs,
  budget: BodyBudget = bodyBudget,
): MessageBody | Promise<MessageBody> {
  if (!exchange.hasBody) return empty;
  const tooLarge: MessageBody = { ok: false, reason: 'body_too_large', detail: `more than ${maxBytes} bytes` };
  if (Number(findHeader(exchange.headers, 'content-length') ?? 0) > maxBytes) return tooLarge;
  const { promise, resolve } = Promise.withResolvers<MessageBody>();
  const bytes = new GrowingBytes(maxBytes);
  const share = budget.open();
  let isOver = false;
  const settle = (body: MessageBody): void => {
    isOver = true;
    clearTimeout(timer);
    resolve(body);
  };
  const forget = (): void => {
    bytes.take();
    share.release();
  };
  const refuse = (body: MessageBody): void => {
    flow.discard();
    forget();
    settle(body);
  };
  const timer = setTimeout(
    () => refuse({ ok: false, reason: 'body_timeout', detail: `not complete after ${timeoutMs} ms` }),
    timeoutMs,
  );
  const gone: MessageBody = { ok: false, reason: 'client_disconnected', detail: 'the request body broke off' };
  const leave = (): void => {
    forget();
    settle(gone);
  };
  // However a request ends, it ends with this: nothing of the budget is lost with it.
  exchange.onClose(leave);
  const flow = exchange.readBody({
    write(chunk) {
      if (isOver) return true;
      if (bytes.size + chunk.length > maxBytes) refuse(tooLarge);
      else if (share.resize(bytes.measure(chunk.length))) bytes.append(chunk);
      else
        refuse({
          ok: false,
          reason: 'bodies_over_budget',
          detail: `all bodies together take more than ${budget.maxBytes} bytes`,
        });
      return true;
    },
    end() {
      if (!isOver) settle({ ok: true, bytes: bytes.take(), share });
    },
    fail: leave,
  });
  return promise;
}

/**
 * Why the server may read other messages in the body than the gateway does; undefined when it cannot. Servers choose their reader by
 * these fields: a form, UTF-16 or a compressed body is another text to them.
 */
export function findUnreadableForm(headers: RawHeaders): string | undefined {
  const encodings = readFieldValues(headers, 'content-encoding');
  if (encodings.some((encoding) => encoding.trim().toLowerCase() !== 'identity')) return 'it has a content encoding';
  const types = readFieldValues(headers, 'content-type');
  if (types.length !== 1) return types.length === 0 ? 'it has no content type' : 'it has several content types';
  const [type, ...parameters] = types[0]!.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') return 'its content type is not application/json';
  const isForeign = parameters.some((parameter) => /^charset\s*=/.test(parameter) && !utf8.test(parameter));
  return isForeign ? 'its charset is not UTF-8' : undefined;
}

const utf8 = /^charset=(?:utf-8|utf8|"utf-8"|"utf8")$/;
