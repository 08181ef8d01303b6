// What concerns every target: the level of logs, the list of tasks, and notifications.
import { isJsonObject } from '../../../../base/json-object.ts';
import { renameAnswer } from '../../names/rename-answer.ts';
import { readMember, replaceProgressToken } from '../../names/message-head.ts';
import type { MethodMessage } from '../../read/message.ts';
import type { Member } from '../federation.ts';
import { openQuestion } from '../question-id.ts';
import type { TargetFailure } from '../target.ts';
import { askTarget, type TargetAnswer } from './ask-target.ts';
import { describeFailure, formatError, formatResult, internalError, noteFailure } from './failures.ts';
import type { Asked, Conversation, MessageSink, Running, Said } from './federated-request.ts';
import { describeAllDown, unavailableKey } from './lists.ts';

/** A request to all targets with one answer. */
export function askAll(conversation: Conversation, asked: Asked, sink: MessageSink): Running {
  const stop = new AbortController();
  const { federation, speaker } = conversation;
  const members = [...federation.members];
  const { message, text } = asked;
  void Promise.all(members.map(({ target }) => askTarget(target, speaker, text, message, stop.signal))).then(
    (answers) => {
      if (!stop.signal.aborted) sink.answer(merge(conversation, asked, members, answers));
    },
  );
  return { resume() {}, abort: () => stop.abort() };
}

function merge(
  { config, note }: Conversation,
  { message: { id, method } }: Asked,
  members: readonly Member[],
  answers: readonly TargetAnswer[],
): string {
  const results: unknown[] = [];
  const missing: string[] = [];
  let refusal: string | undefined;
  for (const [index, answer] of answers.entries()) {
    const { config: target } = members[index]!;
    if (!answer.ok) {
      noteFailure(target.name, answer.failure, note);
      if (target.failsClosed) return fail(id, target.name, answer.failure);
      missing.push(target.name);
      continue;
    }
    const text = renameAnswer(answer.text, method, target, config.naming);
    const result = readResult(text);
    if (result === undefined) refusal ??= text;
    else results.push(result);
  }
  if (results.length === 0) {
    if (refusal !== undefined) return refusal;
    return formatError(id, internalError, describeAllDown(missing), { targets: missing });
  }
  const meta = missing.length === 0 ? {} : { _meta: { [unavailableKey]: missing } };
  if (method !== 'tasks/list') return formatResult(id, '{}');
  const tasks = results.flatMap((result) => (isJsonObject(result) && Array.isArray(result['tasks']) ? result['tasks'] : []));
  return formatResult(id, JSON.stringify({ tasks, ...meta }));
}

function fail(id: string | number, name: string, failure: TargetFailure): string {
  const { message, data } = describeFailure(name, failure);
  return formatError(id, internalError, message, data);
}

/** Undefined: the answer is an error. */
function readResult(text: string): unknown {
  const json = readMember(text, ['result']);
  return json === undefined ? undefined : JSON.parse(json);
}

/** A notification of the client, for those whom it concerns. */
export function notify(conversation: Conversation, said: Said): void {
  const { text, members } = address(conversation, said);
  const { speaker, note } = conversation;
  for (const { config, target } of members) {
    // A server that is down has nothing to be told: what it knew of the client is gone.
    void target.notify(speaker, text).then((failure) => {
      if (failure !== undefined) note({ detail: `${config.name}: ${failure.detail}` });
    });
  }
}

function address(
  { federation, session, sealer }: Conversation,
  { message, text }: Said,
): { readonly text: string; readonly members: Iterable<Member> } {
  if (session === undefined) return { text, members: federation.members };
  switch (message.method) {
    case 'notifications/cancelled': {
      const name = findPending(message, (id) => federation.pending.find(session.name, id));
      const member = name === undefined ? undefined : federation.find(name);
      return { text, members: member === undefined ? federation.members : [member] };
    }
    case 'notifications/progress': {
      const token = readMember(text, ['params', 'progressToken']);
      const question = token === undefined ? undefined : openQuestion(sealer, session.name, token);
      const member = question === undefined ? undefined : federation.find(question.target);
      if (member === undefined) return { text, members: [] };
      return { text: replaceProgressToken(text, question!.id), members: [member] };
    }
    default:
      return { text, members: federation.members };
  }
}

function findPending({ params }: MethodMessage, find: (id: string) => string | undefined): string | undefined {
  const { requestId } = params;
  return typeof requestId === 'string' || typeof requestId === 'number' ? find(JSON.stringify(requestId)) : undefined;
}
