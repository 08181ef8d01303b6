// Which target has an item that a client names. With prefixes the name says so; without, the lists of the targets do.
import type { FederationTarget } from '../../../config/federation-config.ts';
import type { Item } from '../../read/read-item.ts';
import { readClientName, readClientUri } from '../../names/names.ts';
import type { Conversation } from './federated-request.ts';
import { findOwner } from './lists.ts';

export interface FoundItem {
  readonly target: FederationTarget;
  /** What the server calls it. */
  readonly own: string;
}

/** Undefined: no target that is served has it. */
export function findItem(
  conversation: Conversation,
  item: Item,
): FoundItem | undefined | Promise<FoundItem | undefined> {
  const { config } = conversation;
  if (config.naming === 'never')
    return findOwner(conversation, item).then((target) => target && { target, own: item.name });
  const found = item.kind === 'resource' ? readClientUri(config, item.name) : readClientName(config, item.name);
  return found !== undefined && found.target.selects[item.kind](found.own) ? found : undefined;
}
