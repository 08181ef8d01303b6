// Requests about one item: the target that its name leads to answers, and nobody else learns of it.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { describeUnknownItem } from '../../answer/unknown-item.ts';
import { readClientTask } from '../../names/names.ts';
import { renameAnswer } from '../../names/rename-answer.ts';
import { renameItem } from '../../names/rename-request.ts';
import { type RequestMessage, rpcCodes } from '../../read/message.ts';
import { readItems } from '../../read/read-item.ts';
import { answerFailure, formatError, withoutAnswer } from './failures.ts';
import { type Asked, type Conversation, type MessageSink, nothingRunning, type Running } from './federated-request.ts';
import { findItem, type FoundItem } from './find-item.ts';
import { passOn } from './pass-on.ts';

/** A request that names a tool, a prompt, a resource or a template. */
export function askForItem(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const { message } = asked;
  const reading = readItems(message);
  if (!reading.ok) {
    sink.answer(formatError(message.id, rpcCodes.invalidParams, `The message ${reading.problem}.`));
    return nothingRunning;
  }
  const item = reading.items[0]!;
  const found = findItem(conversation.config, item);
  if (found !== undefined) return ask(conversation, asked, found, sink);
  const { code, message: text, data } = describeUnknownItem(item, message.method, conversation.speaker.version);
  sink.answer(formatError(message.id, code, text, data));
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

function ask(conversation: Conversation, asked: Asked, { target: config, own }: FoundItem, sink: MessageSink): Running {
  const { federation, speaker, session, parameterHeaders, note } = conversation;
  const { id, method } = asked.message;
  const member = federation.find(config.name);
  note({ target: config.name });
  if (member === undefined) {
    sink.answer(answerFailure(id, config, { ...withoutAnswer, kind: 'down', detail: 'the target is gone' }, note));
    return nothingRunning;
  }
  const text = renameItem(asked.text, method, own, (task) => readOwnTask(conversation, config, task));
  const forget = session && federation.pending.add(session.name, JSON.stringify(id), config.name);
  let isAnswered = false;
  const answer = (json: string): void => {
    if (isAnswered) return;
    isAnswered = true;
    forget?.();
    sink.answer(json);
  };
  const call = member.target.request(
    speaker,
    { text, message: withOwnName(asked.message, own), parameterHeaders },
    {
      onMessage(incoming) {
        if (isAnswered) return true;
        if (incoming.kind !== 'response') return sink.tell(passOn(conversation, config, incoming));
        answer(renameAnswer(incoming.text, method, config, conversation.config.naming));
        return true;
      },
      onEnd: () => void (isAnswered || answer(answerFailure(id, config, withoutAnswer, note))),
      onFailure: (failure) => void (isAnswered || answer(answerFailure(id, config, failure, note))),
    },
  );
  return {
    resume: () => call.resume(),
    abort() {
      isAnswered = true;
      forget?.();
      call.abort(speaker.era === 'modern');
    },
  };
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
