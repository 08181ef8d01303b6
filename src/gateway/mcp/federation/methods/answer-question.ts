// The answer of a client to a question of a server: it goes to the server that asked, under the id that this one used.
import type { Reason } from '../../../http/reasons.ts';
import { readMessageHead, replaceId } from '../../names/message-head.ts';
import { openQuestion } from '../question-id.ts';
import type { Conversation } from './federated-request.ts';
import { describeFailure, noteFailure } from './failures.ts';

interface AnswerProblem {
  readonly status: number;
  readonly reason: Reason;
  readonly message: string;
}

const unasked: AnswerProblem = {
  status: 400,
  reason: 'message_malformed',
  message: 'The message answers no question of a server.',
};

/** Passes it on; resolves with the reason why nobody got it. */
export async function answerQuestion(conversation: Conversation, text: string): Promise<AnswerProblem | undefined> {
  const { federation, session, sealer, speaker, note } = conversation;
  const id = readMessageHead(text)?.id;
  const question = id === undefined ? undefined : openQuestion(sealer, session?.name ?? '', id);
  const member = question && federation.find(question.target);
  if (member === undefined) return unasked;
  const { name } = member.config;
  note({ target: name });
  const failure = await member.target.notify(speaker, replaceId(text, question!.id));
  if (failure === undefined) return undefined;
  noteFailure(name, failure, note);
  return { status: 502, reason: 'upstream_unreachable', message: describeFailure(name, failure).message };
}
