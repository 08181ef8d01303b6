// Which target has an item that a client names. With prefixes, its name says so; without, the lists of the targets do.
import type { FederationConfig, FederationTarget } from '../../../config/federation-config.ts';
import { readClientName, readClientUri } from '../../names/names.ts';
import type { Item } from '../../read/read-item.ts';
import type { FindOptions } from '../owned-names.ts';
import type { Conversation } from './federated-request.ts';

export interface FoundItem {
  readonly target: FederationTarget;
  /** What the server calls it. */
  readonly own: string;
}

/** Undefined: no target that is served has it. */
export function findPrefixedItem(config: FederationConfig, { kind, name }: Item): FoundItem | undefined {
  const found = kind === 'resource' ? readClientUri(config, name) : readClientName(config, name);
  return found !== undefined && found.target.selects[kind](found.own) ? found : undefined;
}

export type ListedItem =
  | { readonly kind: 'found'; readonly found: FoundItem }
  | { readonly kind: 'unknown' }
  /** Nobody knows what this target has, and the federation must not do without it. */
  | { readonly kind: 'unavailable'; readonly target: FederationTarget };

/** Finds an item where names have no prefixes. */
export async function findListedItem(
  { federation, speaker, note }: Pick<Conversation, 'federation' | 'speaker' | 'note'>,
  item: Item,
  options?: FindOptions,
): Promise<ListedItem> {
  const finding = await federation.owned.find(federation.members, speaker, item, options);
  switch (finding.kind) {
    case 'owned': {
      const member = federation.find(finding.target);
      return member === undefined
        ? { kind: 'unknown' }
        : { kind: 'found', found: { target: member.config, own: item.name } };
    }
    case 'unavailable': {
      const member = federation.find(finding.target);
      return member === undefined ? { kind: 'unknown' } : { kind: 'unavailable', target: member.config };
    }
    case 'contested':
      note({ detail: `several servers claim the ${item.kind} ${item.name}: ${finding.targets.join(', ')}` });
      return { kind: 'unknown' };
    case 'unknown':
      return { kind: 'unknown' };
  }
}
