// What a server says on its own, as the client gets it: with the names of clients, and its questions under ids that lead back to it.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { readMember, replaceId, replaceProgressToken } from '../../names/message-head.ts';
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
  return method === 'notifications/cancelled' ? renameCancelled(text, seal) : text;
}

/** The question that is cancelled has another id for the client. Such a message has few members, and none that loses anything by being written again. */
function renameCancelled(text: string, seal: (json: string) => string): string {
  const id = readMember(text, ['params', 'requestId']);
  if (id === undefined) return text;
  const sealed = JSON.parse(seal(id)) as string;
  const message = JSON.parse(text) as { readonly params: object };
  return JSON.stringify({ ...message, params: { ...message.params, requestId: sealed } });
}
