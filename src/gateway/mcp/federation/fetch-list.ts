// A list of one target: all of its pages, or one. Bounded: past a limit the target counts as one that has no list, because a list that is cut silently
// hides what somebody relies on.
import type { ListMethod } from '../read/list-methods.ts';
import { askOnce } from './ask-once.ts';
import { type ListItem, type ListPage, readListPage } from './read-list-page.ts';
import type { Speaker, Target } from './target.ts';

/** How much one target may list. */
export interface ListLimits {
  readonly maxItems: number;
  /** Characters of all entries. */
  readonly maxText: number;
  /** Pages without end have few entries each, or none. */
  readonly maxPages: number;
}

/** As documented. */
export const defaultListLimits: ListLimits = { maxItems: 1_000, maxText: 16_777_216, maxPages: 1_000 };

/** A list, or why there is none. `problem` completes "the target ...: "; `isLate`: it was not waited for any longer. */
export type Fetched<L> =
  | { readonly ok: true; readonly list: L }
  | { readonly ok: false; readonly problem: string; readonly isLate: boolean };

/** All pages as one. */
export type WholeList = Omit<ListPage, 'nextCursor'>;

/** The capability without which a target has no such list. */
const capabilities: Readonly<Record<ListMethod, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
};

/** Fetches all pages. */
export async function fetchWholeList(
  target: Target,
  speaker: Speaker,
  method: ListMethod,
  signal: AbortSignal,
  limits: ListLimits = defaultListLimits,
): Promise<Fetched<WholeList>> {
  const items: ListItem[] = [];
  const cursors = new Set<string>();
  let ttlMs: number | undefined;
  let isPublic = true;
  let size = 0;
  let cursor: string | undefined;
  for (let page = 0; ; page += 1) {
    if (page === limits.maxPages) return refuse(`its list of ${method} has more than ${limits.maxPages} pages`);
    // One page after the other: each says where the next one begins.
    // eslint-disable-next-line no-await-in-loop
    const fetched = await fetchPage(target, speaker, method, cursor, signal);
    if (!fetched.ok) return fetched;
    const { list } = fetched;
    for (const item of list.items) {
      items.push(item);
      size += item.text.length;
    }
    if (items.length > limits.maxItems) return refuse(`it lists more than ${limits.maxItems} entries (${method})`);
    if (size > limits.maxText) return refuse(`its list of ${method} has more than ${limits.maxText} characters`);
    ttlMs = page === 0 || ttlMs === undefined ? list.ttlMs : Math.min(ttlMs, list.ttlMs ?? 0);
    isPublic &&= list.isPublic;
    if (list.nextCursor === undefined) return { ok: true, list: { items, ttlMs, isPublic } };
    if (cursors.has(list.nextCursor)) return refuse(`its list of ${method} goes round in a circle`);
    cursors.add(list.nextCursor);
    cursor = list.nextCursor;
  }
}

const nothing: ListPage = { items: [], nextCursor: undefined, ttlMs: undefined, isPublic: true };

/** Fetches one page, of entries that are served. */
export async function fetchPage(
  target: Target,
  speaker: Speaker,
  method: ListMethod,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Fetched<ListPage>> {
  if (!mayHave(target, method)) return { ok: true, list: nothing };
  const answer = await askOnce(target, speaker, method, cursor === undefined ? {} : { cursor }, signal);
  if (!answer.ok) return refuse(answer.failure.detail, signal.aborted);
  const reading = readListPage(answer.text, method);
  if (!reading.ok) return reading.isUnknown ? { ok: true, list: nothing } : refuse(reading.problem);
  const { selects } = target.config;
  const isServed = { 'tools/list': selects.tool, 'prompts/list': selects.prompt }[method as string] ?? selects.resource;
  return { ok: true, list: { ...reading.page, items: reading.page.items.filter(({ own }) => isServed(own)) } };
}

/** Without the capability a server would answer that there is no such method. */
function mayHave(target: Target, method: ListMethod): boolean {
  const known = target.describe().capabilities;
  if (known === undefined) return true;
  return Object.hasOwn(JSON.parse(known) as object, capabilities[method]);
}

function refuse(problem: string, isLate = false): Fetched<never> {
  return { ok: false, problem, isLate };
}
