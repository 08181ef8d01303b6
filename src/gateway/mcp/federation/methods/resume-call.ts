// A client that lost the stream of a call comes back for the rest of it: from the target that has it, under the client's names, and with the answer under the id of the request.
import type { MessageId } from '../../read/message.ts';
import { type EventPlace, openEventId, sealLastEventId } from '../event-id.ts';
import type { ClientSession } from '../client-session.ts';
import { CallRelay } from './call-relay.ts';
import { type ClientAnswer, SingleSink } from './client-answer.ts';
import { answerFailure, withoutTarget } from './failures.ts';
import { type Conversation, nothingRunning, type Running } from './federated-request.ts';

/** Undefined: nobody gave this id to the session. */
export function resumeCall(
  conversation: Conversation,
  session: ClientSession,
  lastEventId: string,
  answer: ClientAnswer,
): Running | undefined {
  const opened = openEventId(conversation.sealer, session.name, lastEventId);
  switch (opened.kind) {
    case 'unknown':
      return undefined;
    case 'nothing':
      // To a client of event streams: do not come back. An empty stream would make some of them come back for ever.
      answer.respondEmpty(204);
      return nothingRunning;
    case 'rest':
      return askForRest(conversation, session, opened.place, lastEventId, answer);
  }
}

/**
 * The stream is opened at once. Whatever goes wrong at the target is the answer to the call, and not a status of HTTP: the client would try again a few times, and then
 * wait for an answer that nobody has.
 */
function askForRest(
  conversation: Conversation,
  session: ClientSession,
  place: EventPlace,
  lastEventId: string,
  answer: ClientAnswer,
): Running {
  const { federation, sealer, speaker, note } = conversation;
  const { target: name, method, asked } = place;
  const id = JSON.parse(place.id) as MessageId;
  note({ target: name });
  answer.openStream();
  const sink = new SingleSink(answer, false, true);
  const member = federation.find(name);
  if (member === undefined) {
    sink.answer(answerFailure(id, { name }, withoutTarget, note), sealLastEventId(sealer, session.name));
    return nothingRunning;
  }
  const call = { target: member.config, id, method, resumed: { after: lastEventId, asked } };
  const relay = new CallRelay(conversation, call, sink);
  return relay.follow(member.target.resumeCall(speaker, place, relay));
}
