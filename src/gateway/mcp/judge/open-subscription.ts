// Keeps the message of an open `subscriptions/listen`, so that its stream can be judged again when the rules change.
import { isJsonObject } from '../../../base/json-object.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Message, RequestMessage } from '../read/message.ts';

const method = 'subscriptions/listen';

interface Subscription {
  readonly message: RequestMessage;
  /** Of the texts in it. */
  readonly bytes: number;
}

const subscriptions = new WeakMap<Exchange, Subscription>();

/** Stands for the message of a stream that was opened without rules: it was never read. Its events are still judged one by one. */
const unread: RequestMessage = { kind: 'request', id: 0, method, params: {} };

/** Keeps a message that passed, if it opens a stream. */
export function rememberSubscription(exchange: Exchange, message: Message): void {
  if (message.kind !== 'request' || message.method !== method) return;
  const { notifications } = message.params;
  const watched = isJsonObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
  const uris = Array.isArray(watched) ? watched.map(String) : [];
  subscriptions.set(exchange, {
    message: { kind: 'request', id: message.id, method, params: { notifications: { resourceSubscriptions: uris } } },
    bytes: uris.reduce((sum, { length }) => sum + length, 0),
  });
}

/** The message that opened the stream, as far as it matters. */
export function recallSubscription(exchange: Exchange): RequestMessage {
  return subscriptions.get(exchange)?.message ?? unread;
}

/** How much memory it takes. */
export function measureSubscription(exchange: Exchange): number {
  return subscriptions.get(exchange)?.bytes ?? 0;
}
