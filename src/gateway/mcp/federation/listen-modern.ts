// `subscriptions/listen` at servers of 2026-07-28.
import type { Refusal } from './message-source.ts';
import { KeptStream } from './kept-stream.ts';
import { asItIs } from './legacy-plans.ts';
import type { Listening } from './listen-legacy.ts';
import { changeMembers } from './json-members.ts';
import { addEnvelope, reduceCapabilities, writeModernHeaders } from './modern-request.ts';
import type { ReadMessage } from './read-messages.ts';
import type { TargetParts } from './target-parts.ts';
import type { ListenFilter, Speaker, TargetEvents, TargetMessage } from './target.ts';
import { acknowledged, writeChanged, writeFilter } from './write-notifications.ts';

const id = '"listen"';
const methodNotFound = -32_601;
const subscriptionKeys: ReadonlySet<string> = new Set(['io.modelcontextprotocol/subscriptionId']);

export function listenModern(
  parts: TargetParts,
  speaker: Speaker,
  filter: ListenFilter,
  events: TargetEvents,
): Listening {
  const isOfEra = speaker.era === 'modern';
  const { capabilities, clientInfo, headers, host } = speaker;
  const message = { kind: 'request', id: 'listen', method: 'subscriptions/listen', params: {} } as const;
  const text = addEnvelope(
    `{"jsonrpc":"2.0","id":${id},"method":"subscriptions/listen","params":${writeFilter(filter)}}`,
    { clientInfo, capabilities: isOfEra ? capabilities : reduceCapabilities(capabilities) },
  );
  let isAcknowledged = false;
  const stream: KeptStream = new KeptStream(parts, {
    prepare: () => ({
      ok: true,
      request: {
        method: 'POST',
        path: parts.config.backend.mcp!.path,
        host,
        headers: writeModernHeaders({ headers, host }, message, []),
        body: text,
        tag: undefined,
        isUnlimited: true,
      },
    }),
    isLost: (_refusal: Refusal) => false,
    onOpen() {},
    onMessage(received) {
      if (received.head.kind === 'response') {
        if (!isNone(received)) return (stream.restart(), true);
        stream.close();
        events.onEnd();
        return true;
      }
      if (received.head.kind === 'request') return true;
      if (received.head.method !== acknowledged) return events.onMessage(withoutSubscription(received));
      if (!isAcknowledged) {
        isAcknowledged = true;
        return !isOfEra || events.onMessage(withoutSubscription(received));
      }
      // The stream before this one has broken off: what happened in between nobody has heard.
      for (const changed of writeChanged(filter)) events.onMessage(changed);
      return true;
    },
    onNone: () => events.onEnd(),
    onRefused: (failure) => events.onFailure(failure),
  });
  queueMicrotask(() => stream.open());
  return { resume: () => stream.resume(), abort: () => stream.close(), hurry: () => stream.hurry() };
}

/** An answer that is an error: the server has no such streams. */
function isNone({ text }: ReadMessage): boolean {
  const { error } = JSON.parse(text) as { readonly error?: { readonly code?: unknown } };
  return error?.code === methodNotFound;
}

function withoutSubscription(received: ReadMessage): TargetMessage {
  return { ...asItIs(received), text: changeMembers(received.text, ['params', '_meta'], { remove: subscriptionKeys }) };
}
