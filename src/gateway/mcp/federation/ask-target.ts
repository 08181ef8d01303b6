// A request whose one answer is awaited, with a deadline: who the server is, and the beginning of a session.
import type { RawHeaders } from '../../http/exchange.ts';
import type { Endpoint } from '../../forward/upstream/upstreams.ts';
import { describeRefusal, openMessages } from './message-exchange.ts';
import type { MessageRequest, Refusal } from './message-source.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { TargetFailure } from './target.ts';

export type Asked =
  | {
      readonly ok: true;
      readonly text: string;
      readonly headers: RawHeaders;
      /** Undefined: the answer came on a stream that was there before. */ readonly endpoint: Endpoint | undefined;
    }
  | { readonly ok: false; readonly failure: TargetFailure; readonly refusal: Refusal | undefined };

/** Sends a request and resolves with the message that answers this id (JSON). */
export function askTarget(parts: TargetParts, request: MessageRequest, id: string, timeoutMs: number): Promise<Asked> {
  return new Promise((resolve) => {
    let head: { readonly headers: RawHeaders; readonly endpoint: Endpoint | undefined } = {
      headers: [],
      endpoint: undefined,
    };
    const settle = (asked: Asked): void => {
      clearTimeout(timer);
      resolve(asked);
    };
    const refuse = (failure: TargetFailure, refusal?: Refusal): void => settle({ ok: false, failure, refusal });
    const exchange = openMessages(parts, request, {
      onHead: (_status, headers, endpoint) => void (head = { headers, endpoint }),
      onMessage(message) {
        if (message.head.kind !== 'response' || message.head.id !== id) return true;
        settle({ ok: true, text: message.text, ...head });
        exchange.abort();
        return true;
      },
      onEnd: () => refuse(fail('no-answer', 'its answer ended before there was one')),
      onRefusal(refusal) {
        refuse(describeRefusal(refusal), refusal);
      },
      onFailure: (failure) => refuse(failure),
    });
    const timer = setTimeout(() => {
      exchange.abort();
      refuse(fail('timeout', `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    exchange.start();
  });
}

/** Sends a message that has no answer of its own: a notification, or an answer. Resolves with the refusal or failure, if there is one. */
export function tellTarget(
  parts: TargetParts,
  request: MessageRequest,
  timeoutMs: number,
): Promise<{ readonly failure: TargetFailure; readonly refusal: Refusal | undefined } | undefined> {
  return new Promise((resolve) => {
    const settle = (failure?: TargetFailure, refusal?: Refusal): void => {
      clearTimeout(timer);
      resolve(failure === undefined ? undefined : { failure, refusal });
    };
    const exchange = openMessages(parts, request, {
      // Whatever it says more does not matter: it has taken the message.
      onHead() {
        queueMicrotask(() => exchange.abort());
        settle();
      },
      onMessage: () => true,
      onEnd: () => settle(),
      onRefusal: (refusal) => settle(describeRefusal(refusal), refusal),
      onFailure: (failure) => settle(failure),
    });
    const timer = setTimeout(() => {
      exchange.abort();
      settle(fail('timeout', `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    exchange.start();
  });
}
