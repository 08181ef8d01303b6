// All pages of a list of one target: those that are kept, or new ones, which are kept as long as the target allows. Whose names they are is noted where that has to be known.
import type { ListMethod } from '../read/list-methods.ts';
import { type Fetched, fetchPage, fetchWholeList, type WholeList } from './fetch-list.ts';
import type { ListCache } from './list-cache.ts';
import type { ListPage } from './read-list-page.ts';
import type { Speaker, Target } from './target.ts';

/** What a federation remembers of lists. */
export interface ListMemory {
  readonly cache: ListCache;
  /** Undefined: whose names they are need not be known. */
  readonly notes: ListNotes | undefined;
}

export interface ListNotes {
  /** Asked before a list is fetched, and told with it. */
  epochOf(target: string): number;
  isNoted(target: string, method: ListMethod, speaker: Speaker): boolean;
  note(target: string, method: ListMethod, speaker: Speaker, list: WholeList, epoch: number): void;
}

export async function fetchKeptList(
  { cache, notes }: ListMemory,
  target: Target,
  speaker: Speaker,
  method: ListMethod,
  signal: AbortSignal,
): Promise<Fetched<WholeList>> {
  const { name } = target.config;
  const epoch = notes?.epochOf(name) ?? 0;
  const kept = cache.find(name, method, speaker);
  if (kept !== undefined) {
    if (notes?.isNoted(name, method, speaker) === false) notes.note(name, method, speaker, kept, epoch);
    return { ok: true, list: kept };
  }
  const since = cache.epochOf(name);
  const fetched = await fetchWholeList(target, speaker, method, signal);
  if (!fetched.ok) return fetched;
  cache.keep(name, method, speaker, fetched.list, since);
  notes?.note(name, method, speaker, fetched.list, epoch);
  return fetched;
}

/** One page. A list that has no other one is kept as a whole. */
export async function fetchKeptPage(
  cache: ListCache,
  target: Target,
  speaker: Speaker,
  method: ListMethod,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Fetched<ListPage>> {
  const { name } = target.config;
  const kept = cursor === undefined ? cache.find(name, method, speaker) : undefined;
  if (kept !== undefined) return { ok: true, list: { ...kept, nextCursor: undefined } };
  const since = cache.epochOf(name);
  const fetched = await fetchPage(target, speaker, method, cursor, signal);
  if (fetched.ok && cursor === undefined && fetched.list.nextCursor === undefined)
    cache.keep(name, method, speaker, fetched.list, since);
  return fetched;
}
