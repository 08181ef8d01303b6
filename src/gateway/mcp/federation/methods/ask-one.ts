// Requests about one item: the target that its name leads to answers, and nobody else learns of it.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { describeUnknownItem } from '../../answer/unknown-item.ts';
import { hasScheme, readClientTask } from '../../names/names.ts';
import { renameItem } from '../../names/rename-request.ts';
import { type RequestMessage, rpcCodes } from '../../read/message.ts';
import { type Item, readItems } from '../../read/read-item.ts';
import type { TargetFailure } from '../target.ts';
import { CallRelay } from './call-relay.ts';
import { answerFailure, formatError, internalError, withoutAnswer, withoutTarget } from './failures.ts';
import { type Asked, type Conversation, type MessageSink, nothingRunning, type Running } from './federated-request.ts';
import { findListedItem, findPrefixedItem, type FoundItem } from './find-item.ts';
import { runLater } from './run-later.ts';

/** A request that names a tool, a prompt, a resource or a template. */
export function askForItem(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { message } = asked;
  const reading = readItems(message);
  if (!reading.ok) {
    sink.answer(formatError(message.id, rpcCodes.invalidParams, `The message ${reading.problem}.`));
    return nothingRunning;
  }
  const item = reading.items[0]!;
  if (conversation.config.naming === 'never') return askOwner(conversation, asked, item, sink);
  const found = findPrefixedItem(conversation.config, item);
  if (found === undefined) return refuseUnknown(conversation, asked, item, sink);
  return ask(conversation, asked, found, sink, item);
}

/** The target that lists the item answers. */
function askOwner(conversation: Conversation, asked: Asked, item: Item, sink: MessageSink): Running {
  const { note } = conversation;
  const { id } = asked.message;
  return runLater(
    findListedItem(conversation, item),
    (listed) => {
      if (listed.kind === 'found') return ask(conversation, asked, listed.found, sink, item);
      if (listed.kind === 'unknown') return refuseUnknown(conversation, asked, item, sink);
      sink.answer(answerFailure(id, listed.target, withoutLists, note));
      return nothingRunning;
    },
    (error) => {
      note({ reason: 'internal_error', detail: String(error) });
      sink.answer(formatError(id, internalError, 'The gateway failed to find the server.'));
    },
  );
}

const withoutLists: TargetFailure = {
  ...withoutAnswer,
  kind: 'down',
  detail: 'nobody knows what it has, because it has not answered with its lists yet',
};

function refuseUnknown(
  { speaker, refused, note }: Conversation,
  { message: { id, method } }: Asked,
  item: Item,
  sink: MessageSink,
): Running {
  const refusal = item.kind === 'tool' ? refused?.get(item.name) : undefined;
  if (refusal !== undefined) {
    note({ reason: 'name_ambiguous' });
    sink.answer(formatError(id, refusal.code, refusal.message));
    return nothingRunning;
  }
  const { code, message, data } =
    item.kind === 'resource' && !hasScheme(item.name)
      ? { code: rpcCodes.invalidParams, message: 'The URI has no scheme', data: { uri: item.name } }
      : describeUnknownItem(item, method, speaker.version);
  sink.answer(formatError(id, code, message, data));
  return nothingRunning;
}

/** A request about a task. */
export function askForTask(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { message } = asked;
  const { taskId } = message.params;
  const found = typeof taskId === 'string' ? readClientTask(conversation.config, taskId) : undefined;
  if (found !== undefined) return ask(conversation, asked, found, sink);
  sink.answer(formatError(message.id, rpcCodes.invalidParams, 'Task not found'));
  return nothingRunning;
}

function ask(
  conversation: Conversation,
  asked: Asked,
  { target: config, own }: FoundItem,
  sink: MessageSink,
  item?: Item,
): Running {
  const { federation, speaker, parameterHeaders, note } = conversation;
  const { id, method } = asked.message;
  const member = federation.find(config.name);
  note({ target: config.name });
  if (member === undefined) {
    sink.answer(answerFailure(id, config, withoutTarget, note));
    return nothingRunning;
  }
  const text = renameItem(asked.text, method, own, (task) => readOwnTask(conversation, config, task));
  const relay = new CallRelay(conversation, { target: config, id, method, item }, sink);
  const message = { text, message: withOwnName(asked.message, own), parameterHeaders };
  return relay.follow(member.target.request(speaker, message, relay));
}

/** A task of another target is none of this one: its id stays as it is, and means nothing there. */
function readOwnTask({ config }: Conversation, { name }: FederationTarget, task: string): string | undefined {
  const found = readClientTask(config, task);
  return found?.target.name === name ? found.own : undefined;
}

function withOwnName(message: RequestMessage, own: string): RequestMessage {
  const { params, method } = message;
  if (method.startsWith('tasks/')) return { ...message, params: { ...params, taskId: own } };
  if (method.startsWith('resources/')) return { ...message, params: { ...params, uri: own } };
  if (method !== 'completion/complete') return { ...message, params: { ...params, name: own } };
  const ref = params['ref'] as Readonly<Record<string, unknown>>;
  return { ...message, params: { ...params, ref: { ...ref, [ref['type'] === 'ref/prompt' ? 'name' : 'uri']: own } } };
}
