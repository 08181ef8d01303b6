// Decides whether a caller may use an item, for every item of a list. Lists repeat items, so each is judged once per request.
import type { ItemJudge } from '../answer/answer-expectation.ts';
import type { ItemKind } from '../read/read-item.ts';
import { type Caller, isListed } from './judge-message.ts';

/** The server controls the number of items; beyond this limit they are not cached. */
const maxRemembered = 10_000;

/** The judge of one request. */
export function createItemJudge(caller: Caller, protocolVersion: string): ItemJudge {
  // Most requests ask for no list.
  const remembered: Partial<Record<ItemKind, Map<string, boolean>>> = {};
  return (kind, name) => {
    const verdicts = (remembered[kind] ??= new Map());
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      verdict = isListed(caller, protocolVersion, kind, name);
      if (verdicts.size < maxRemembered) verdicts.set(name, verdict);
    }
    return verdict;
  };
}
