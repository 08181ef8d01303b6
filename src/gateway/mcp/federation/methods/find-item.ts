// Which target has an item that a client names: with prefixes, its name says so.
import type { FederationConfig, FederationTarget } from '../../../config/federation-config.ts';
import { readClientName, readClientUri } from '../../names/names.ts';
import type { Item } from '../../read/read-item.ts';

export interface FoundItem {
  readonly target: FederationTarget;
  /** What the server calls it. */
  readonly own: string;
}

/** Undefined: no target that is served has it. Without prefixes the lists of the targets have to be asked, which the configuration refuses until that is built. */
export function findItem(config: FederationConfig, { kind, name }: Item): FoundItem | undefined {
  if (config.naming === 'never') return undefined;
  const found = kind === 'resource' ? readClientUri(config, name) : readClientName(config, name);
  return found !== undefined && found.target.selects[kind](found.own) ? found : undefined;
}
