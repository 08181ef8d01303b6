// What a server says on its own, as the client gets it: with the names of clients, and its questions under ids that lead back to it.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { readMember, replaceCancelledId, replaceId, replaceProgressToken } from '../../names/message-head.ts';
import { renameQuestion } from '../../names/rename-answer.ts';
import { sealQuestion } from '../question-id.ts';
import type { TargetMessage } from '../target.ts';
import type { Conversation } from './federated-request.ts';

type Listener = Pick<Conversation, 'config' | 'session' | 'sealer'>;

/** A notification or a question. */
export function passOn({ config, session, sealer }: Listener, target: FederationTarget, said: TargetMessage): string {
  const { kind, method, id } = said;
  const text = renameQuestion(said.text, method ?? '', target, config.naming);
  const seal = (json: string): string => sealQuestion(sealer, session?.name ?? '', { target: target.name, id: json });
  if (kind === 'request' && id !== undefined) {
    const token = readMember(text, ['params', '_meta', 'progressToken']);
    return replaceId(token === undefined ? text : replaceProgressToken(text, seal(token)), seal(id));
  }
  if (method !== 'notifications/cancelled') return text;
  // The question has another id for the client.
  const cancelled = readMember(text, ['params', 'requestId']);
  return cancelled === undefined ? text : replaceCancelledId(text, seal(cancelled));
}
