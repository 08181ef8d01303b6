// The items of a federation as rules see them: which server an item that a client names belongs to, and what that server calls it.
import type { FederationConfig } from '../../config/federation-config.ts';
import type { Item } from '../read/read-item.ts';
import { readClientName, readClientUri, writeClientUri } from './names.ts';

/** An item at its server. */
export interface OwnItem {
  /** The name of the target. */
  readonly target: string;
  /** What the server calls the item. */
  readonly own: string;
  /** What clients call another URI of this server. */
  readonly renameUri: (own: string) => string | undefined;
}

/** Undefined: the name leads to no server. */
export type FindOwnItem = (item: Pick<Item, 'kind' | 'name'>) => OwnItem | undefined;

/** Without prefixes only the lists of the servers say whose an item is, which is not known before they were asked. What rules say about the target cannot be judged then. */
export type Unknowable = 'unknowable';

/** How rules find out whose an item is. */
export function chooseOwnItemFinder(federation: FederationConfig): FindOwnItem | Unknowable {
  return federation.naming === 'never' ? 'unknowable' : createOwnItemFinder(federation);
}

/** Finds the server by the prefix. */
export function createOwnItemFinder(federation: FederationConfig): FindOwnItem {
  if (federation.naming === 'never') return () => undefined;
  return ({ kind, name }) => {
    const found = kind === 'resource' ? readClientUri(federation, name) : readClientName(federation, name);
    if (found === undefined) return undefined;
    const { target, own } = found;
    return { target: target.name, own, renameUri: (other) => writeClientUri(target, federation.naming, other) };
  };
}
