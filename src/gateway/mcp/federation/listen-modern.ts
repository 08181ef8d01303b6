// `subscriptions/listen` at servers of 2026-07-28.
import { askTask } from './ask-task.ts';
import type { MessageRequest, Refusal } from './message-source.ts';
import { rpcCodes } from '../read/message.ts';
import { KeptStream } from './kept-stream.ts';
import { asItIs } from './legacy-plans.ts';
import type { Listening } from './listen-legacy.ts';
import { changeMembers } from './json-members.ts';
import { addEnvelope, reduceCapabilities, writeModernHeaders } from './modern-request.ts';
import { readAcknowledgedTasks, readAcknowledgedUris } from './read-acknowledged.ts';
import type { ReadMessage } from './read-messages.ts';
import type { TargetParts } from './target-parts.ts';
import type { ListenFilter, Speaker, TargetEvents, TargetMessage } from './target.ts';
import { acknowledged, writeChanged, writeFilter } from './write-notifications.ts';

/** JSON of the id of the request. */
export const listenId = '"listen"';
const methodNotFound = -32_601;
/** For an answer about one task, after the stream was open again. */
const taskMs = 10_000;
const subscriptionKeys: ReadonlySet<string> = new Set(['io.modelcontextprotocol/subscriptionId']);

const message = { kind: 'request', id: 'listen', method: 'subscriptions/listen', params: {} } as const;

/** The request that begins the stream. */
export function writeListen(parts: TargetParts, speaker: Speaker, filter: ListenFilter): MessageRequest {
  const { era, capabilities, clientInfo, headers, host } = speaker;
  return {
    method: 'POST',
    path: parts.config.backend.mcp!.path,
    host,
    headers: writeModernHeaders({ headers, host }, message, []),
    body: addEnvelope(
      `{"jsonrpc":"2.0","id":${listenId},"method":"${message.method}","params":${writeFilter(filter)}}`,
      { clientInfo, capabilities: era === 'modern' ? capabilities : reduceCapabilities(capabilities) },
    ),
    tag: undefined,
    isUnlimited: true,
  };
}

/** `readFilter`: what the stream is about whenever it begins; `onAcknowledged`: it has begun. */
export function listenModern(
  parts: TargetParts,
  speaker: Speaker,
  readFilter: () => ListenFilter,
  events: TargetEvents,
  onAcknowledged: () => void = () => {},
): Listening {
  const isOfEra = speaker.era === 'modern';
  let filter: ListenFilter | undefined;
  let isAcknowledged = false;
  let hasRefusedTasks = false;
  let isOver = false;
  /** One after the other: a client may listen to many. */
  const askTasks = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) {
      if (isOver) return;
      // eslint-disable-next-line no-await-in-loop
      const told = await askTask(parts, speaker, id, taskMs);
      if (told !== undefined && !isOver) events.onMessage(told);
    }
  };
  const stream: KeptStream = new KeptStream(parts, {
    prepare() {
      filter = hasRefusedTasks ? { ...readFilter(), tasks: [] } : readFilter();
      return { ok: true, request: writeListen(parts, speaker, filter) };
    },
    isLost: (_refusal: Refusal) => false,
    onOpen() {},
    onMessage(received) {
      if (received.head.kind === 'response') {
        const code = readErrorCode(received);
        // It does not leave out tasks that it does not know. The rest of the stream must not be lost with them.
        if (code === rpcCodes.invalidParams && filter!.tasks.length > 0) hasRefusedTasks = true;
        if (code !== methodNotFound && !(hasRefusedTasks && isNothing(filter!))) {
          stream.restart();
          return true;
        }
        isOver = true;
        stream.close();
        events.onEnd();
        return true;
      }
      if (received.head.kind === 'request') return true;
      if (received.head.method !== acknowledged) return events.onMessage(withoutSubscription(received));
      if (!isAcknowledged) {
        isAcknowledged = true;
        onAcknowledged();
        return !isOfEra || events.onMessage(withoutSubscription(received));
      }
      // The stream before this one has broken off: what happened in between nobody has heard.
      const honored = readAcknowledgedUris(received.text);
      const uris = filter!.uris.filter((uri) => honored.includes(uri));
      for (const changed of writeChanged({ ...filter!, uris })) events.onMessage(changed);
      const tasks = readAcknowledgedTasks(received.text);
      void askTasks(filter!.tasks.filter((id) => tasks.includes(id)));
      onAcknowledged();
      return true;
    },
    onNone: () => events.onEnd(),
    onRefused: (failure) => events.onFailure(failure),
  });
  queueMicrotask(() => stream.open());
  return {
    resume: () => stream.resume(),
    abort() {
      isOver = true;
      stream.close();
    },
    hurry: () => stream.hurry(),
  };
}

/** Without its tasks. */
function isNothing({ tools, prompts, resources, uris }: ListenFilter): boolean {
  return !tools && !prompts && !resources && uris.length === 0;
}

/** Of an answer that is an error: the server has no such streams, or not this one. */
function readErrorCode({ text }: ReadMessage): unknown {
  const { error } = JSON.parse(text) as { readonly error?: { readonly code?: unknown } };
  return error?.code;
}

function withoutSubscription(received: ReadMessage): TargetMessage {
  return { ...asItIs(received), text: changeMembers(received.text, ['params', '_meta'], { remove: subscriptionKeys }) };
}
