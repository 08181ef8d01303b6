// Asks a server of 2026-07-28 whether it will tell of changes of a resource: it says so when a stream for it begins, and in no other way.
import { readAcknowledgedUris } from './read-acknowledged.ts';
import { listenId, writeListen } from './listen-modern.ts';
import { describeRefusal, openMessages } from './message-exchange.ts';
import type { ReadMessage } from './read-messages.ts';
import { plainRefusals } from './target-call.ts';
import { fail, type TargetParts } from './target-parts.ts';
import type { Speaker, TargetFailure } from './target.ts';
import { acknowledged } from './write-notifications.ts';

export type SubscriptionAsked =
  | { readonly kind: 'granted' }
  /** It has begun the stream without the resource. */
  | { readonly kind: 'left-out' }
  /** It has answered with an error. */
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: TargetFailure };

/** Opens a stream for this resource alone, and closes it as soon as the server has said what it is about. */
export function askSubscription(
  parts: TargetParts,
  speaker: Speaker,
  uri: string,
  timeoutMs: number,
): Promise<SubscriptionAsked> {
  return new Promise((resolve) => {
    const settle = (asked: SubscriptionAsked): void => {
      clearTimeout(timer);
      resolve(asked);
    };
    const request = writeListen(parts, speaker, {
      tools: false,
      prompts: false,
      resources: false,
      uris: [uri],
      tasks: [],
    });
    const exchange = openMessages(parts, request, {
      onMessage(message) {
        const asked = readSaid(message, uri);
        if (asked === undefined) return true;
        settle(asked);
        exchange.abort();
        return true;
      },
      onEnd: () => settle({ kind: 'failed', failure: fail('no-answer', 'its stream ended before it began') }),
      onRefusal(refusal) {
        const { message, status } = refusal;
        const said = message === undefined || plainRefusals.has(status) ? undefined : readSaid(message, uri);
        settle(said ?? { kind: 'failed', failure: describeRefusal(refusal) });
      },
      onFailure: (failure) => settle({ kind: 'failed', failure }),
    });
    const timer = setTimeout(() => {
      exchange.abort();
      settle({ kind: 'failed', failure: fail('timeout', `no answer within ${timeoutMs} ms`) });
    }, timeoutMs);
    exchange.start();
  });
}

/** Undefined: it is about something else. */
function readSaid({ text, head }: ReadMessage, uri: string): SubscriptionAsked | undefined {
  if (head.method === acknowledged) return { kind: readAcknowledgedUris(text).includes(uri) ? 'granted' : 'left-out' };
  if (head.kind !== 'response' || head.id !== listenId) return undefined;
  // It is over before it has begun.
  return 'error' in (JSON.parse(text) as object) ? { kind: 'error', text } : { kind: 'left-out' };
}
