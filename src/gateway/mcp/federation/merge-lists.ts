// The lists of all targets as one. Tools and prompts: every page of every target, at once. Resources and templates: one page after the other, because there
// may be many. A target that is down is left out and named, or fails the list, as it is configured.
import type { Sealer } from '../../../base/sealed.ts';
import type { FederationConfig } from '../../config/federation-config.ts';
import type { RpcError } from '../answer/rpc-error.ts';
import { hasScheme } from '../names/names.ts';
import { renameListItem } from '../names/rename-answer.ts';
import { rpcCodes } from '../read/message.ts';
import type { ListMethod } from '../read/list-methods.ts';
import { fetchKeptList, fetchKeptPage, type ListNotes } from './fetch-kept-list.ts';
import type { Fetched, WholeList } from './fetch-list.ts';
import type { ListCache } from './list-cache.ts';
import { type ListPlace, openCursor, sealCursor } from './list-cursor.ts';
import type { OwnedNames } from './owned-names.ts';
import { type ListItem, listForms, type ListPage } from './read-list-page.ts';
import type { Speaker, Target } from './target.ts';

/** The federation whose lists are merged. */
export interface ListedFederation {
  /** Key of the backend. */
  readonly key: string;
  readonly naming: FederationConfig['naming'];
  /** In order. */
  readonly targets: readonly Target[];
  readonly cache: ListCache;
  /** Undefined: names carry prefixes. */
  readonly owned?: OwnedNames | undefined;
  /** Where lists are noted. Undefined: nowhere. */
  readonly notes?: ListNotes | undefined;
  readonly sealer: Sealer;
}

export interface ListRequest {
  readonly method: ListMethod;
  /** As the client sent it. */
  readonly cursor: string | undefined;
  readonly speaker: Speaker;
  /** The client has gone, or it takes too long. */
  readonly signal: AbortSignal;
  /** Called for each target that is left out. `isLate`: it had not answered when the signal came. */
  readonly onMissing: (target: string, problem: string, isLate: boolean) => void;
}

export type ListOutcome =
  /** JSON of the result. */
  { readonly ok: true; readonly result: string } | { readonly ok: false; readonly error: RpcError };

/** Characters of a page: a longer list goes on in another one. */
const maxPageText = 1_048_576;

/** Answers a list request of a client. */
export async function listMerged(federation: ListedFederation, request: ListRequest): Promise<ListOutcome> {
  const { method, cursor } = request;
  const start = cursor === undefined ? first : openCursor(federation.sealer, federation.key, method, cursor);
  if (start === undefined) return refuse(rpcCodes.invalidParams, 'The cursor is not one of this list.');
  const from = start === first ? 0 : federation.targets.findIndex(({ config }) => config.name === start.target);
  if (from === -1) return refuse(rpcCodes.invalidParams, 'The list has changed: its target is gone. Begin it again.');
  // A name is nobody's when several targets have it, on whichever of their pages.
  const isWhole = !isResourceList(method) || federation.owned !== undefined;
  const merging = new Merging(federation, request);
  return isWhole ? mergeWhole(merging, start, from) : mergePages(merging, start, from);
}

const first: ListPlace = { target: '', cursor: undefined, index: 0, after: undefined };

/** Everything is asked for at once, then sent page by page. Also what comes before this page: a target that is down must not shift it. */
async function mergeWhole(merging: Merging, start: ListPlace, from: number): Promise<ListOutcome> {
  const { targets } = merging.federation;
  const lists = await Promise.all(targets.map((target) => merging.fetchWhole(target)));
  for (let at = 0; at < targets.length; at += 1) {
    const fetched = lists[at]!;
    if (!fetched.ok) {
      const refusal = merging.leaveOut(targets[at]!, fetched);
      if (refusal !== undefined) return refusal;
    }
  }
  if (merging.isEverythingMissing(targets.length)) return merging.refuseAll();
  for (let at = from; at < targets.length; at += 1) {
    const fetched = lists[at]!;
    if (!fetched.ok) continue;
    const rest = merging.add(
      targets[at]!,
      fetched.list,
      at === from ? findStart(fetched.list.items, start) : 0,
      undefined,
    );
    if (rest !== undefined) return merging.finish(rest);
  }
  return merging.finish(undefined);
}

/** One target after the other, until a page is full or goes on. */
async function mergePages(merging: Merging, start: ListPlace, from: number): Promise<ListOutcome> {
  const { targets } = merging.federation;
  const ahead = new PagesAhead(merging, from);
  try {
    let asked = 0;
    for (let at = from; at < targets.length; at += 1) {
      const target = targets[at]!;
      const cursor = at === from ? start.cursor : undefined;
      asked += 1;
      // A page more is asked for only when there is room for it.
      // eslint-disable-next-line no-await-in-loop
      const fetched = await ahead.fetch(at, cursor);
      if (!fetched.ok) {
        const refusal = merging.leaveOut(target, fetched);
        if (refusal !== undefined) return refusal;
        continue;
      }
      const { nextCursor, items } = fetched.list;
      const rest = merging.add(target, fetched.list, at === from ? findStart(items, start) : 0, cursor);
      if (rest !== undefined) return merging.finish(rest);
      if (nextCursor !== undefined)
        return merging.finish({ target: target.config.name, cursor: nextCursor, index: 0, after: undefined });
    }
    // Who begins in the middle has passed others, which may well be there.
    const arePassedDown = targets.slice(0, from).every((target) => target.describe().health === 'down');
    if (arePassedDown && merging.isEverythingMissing(asked)) return merging.refuseAll();
    return merging.finish(undefined);
  } finally {
    ahead.stop();
  }
}

/** How long a target may take before those after it are asked, too. */
const patienceMs = 1_000;

/** Pages that are asked for one after the other; all at once behind a target that is slow, so that the others are not late because of it. */
class PagesAhead {
  readonly #merging: Merging;
  readonly #stop = new AbortController();
  #pages: Promise<Fetched<ListPage>>[] | undefined;
  #first: number;

  constructor(merging: Merging, from: number) {
    this.#merging = merging;
    this.#first = from;
  }

  async fetch(at: number, cursor: string | undefined): Promise<Fetched<ListPage>> {
    const { targets } = this.#merging.federation;
    if (this.#pages !== undefined) return this.#pages[at - this.#first]!;
    const page = this.#merging.fetchPage(targets[at]!, cursor);
    const timer = setTimeout(() => {
      this.#first = at + 1;
      this.#pages = targets
        .slice(at + 1)
        .map((target) => this.#merging.fetchPage(target, undefined, this.#stop.signal));
      // Whoever comes to a page hears of it; nobody may come.
      for (const later of this.#pages) later.catch(() => {});
    }, patienceMs);
    try {
      return await page;
    } finally {
      clearTimeout(timer);
    }
  }

  /** What has not come yet is not needed. */
  stop(): void {
    if (this.#pages !== undefined) this.#stop.abort();
  }
}

/** Behind the entry that was sent last, wherever it is now; where it was, when it is gone. */
function findStart(items: readonly ListItem[], { index, after }: ListPlace): number {
  if (after === undefined) return 0;
  const found = items.findIndex(({ own }) => own === after);
  return found === -1 ? Math.min(index, items.length) : found + 1;
}

function isResourceList(method: ListMethod): boolean {
  return method === 'resources/list' || method === 'resources/templates/list';
}

/** One answer in the making. */
class Merging {
  readonly federation: ListedFederation;
  readonly #request: ListRequest;
  readonly #entries: string[] = [];
  readonly #missing: string[] = [];
  #size = 0;
  #ttlMs = Infinity;
  #isPublic = true;

  constructor(federation: ListedFederation, request: ListRequest) {
    this.federation = federation;
    this.#request = request;
  }

  fetchWhole(target: Target): Promise<Fetched<WholeList>> {
    const { cache, notes } = this.federation;
    const { method, speaker, signal } = this.#request;
    return fetchKeptList({ cache, notes }, target, speaker, method, signal);
  }

  /** `stop`: the page is not needed any more. */
  fetchPage(target: Target, cursor: string | undefined, stop?: AbortSignal): Promise<Fetched<ListPage>> {
    const { method, speaker, signal } = this.#request;
    const until = stop === undefined ? signal : AbortSignal.any([signal, stop]);
    return fetchKeptPage(this.federation.cache, target, speaker, method, cursor, until);
  }

  /** Adds entries from an index on. Returns where the next page begins when this one is full. */
  add(target: Target, list: WholeList, from: number, cursor: string | undefined): ListPlace | undefined {
    const { method } = this.#request;
    const { config } = target;
    this.#ttlMs = Math.min(this.#ttlMs, list.ttlMs ?? 0);
    this.#isPublic &&= list.isPublic;
    const seen = new Set(list.items.slice(0, from).map(({ own }) => own));
    for (let index = from; index < list.items.length; index += 1) {
      const { own, text } = list.items[index]!;
      // A client could use only one of two entries with the same name.
      if (seen.has(own)) continue;
      seen.add(own);
      // Nor one that leads nowhere.
      if (isResourceList(method) && !hasScheme(own)) continue;
      if (this.federation.owned?.isContested(method, own) === true) continue;
      if (this.#size > 0 && this.#size + text.length > maxPageText)
        return { target: config.name, cursor, index, after: list.items[index - 1]?.own };
      this.#size += text.length;
      this.#entries.push(renameListItem(text, method, config, this.federation.naming));
    }
    return undefined;
  }

  /** A target has no list. The refusal, when the list cannot do without it. */
  leaveOut(
    { config: { name, failsClosed } }: Target,
    { problem, isLate }: Extract<Fetched<unknown>, { ok: false }>,
  ): ListOutcome | undefined {
    this.#request.onMissing(name, problem, isLate);
    this.#missing.push(name);
    return failsClosed
      ? refuse(
          unavailable,
          `The server ${name} is not available, and this list must not be without it. Try again later.`,
        )
      : undefined;
  }

  isEverythingMissing(asked: number): boolean {
    return asked > 0 && this.#missing.length === asked;
  }

  refuseAll(): ListOutcome {
    const names = this.federation.targets.map(({ config }) => config.name);
    return refuse(unavailable, `None of the servers is available: ${names.join(', ')}. Try again later.`);
  }

  finish(next: ListPlace | undefined): ListOutcome {
    const { key, sealer } = this.federation;
    const { method, speaker } = this.#request;
    const members = [`${JSON.stringify(listForms[method].member)}:[${this.#entries.join(',')}]`];
    if (next !== undefined) members.push(`"nextCursor":${JSON.stringify(sealCursor(sealer, key, method, next))}`);
    if (speaker.era === 'modern') {
      // A list that lacks something is not one to keep.
      const ttlMs = this.#missing.length > 0 || this.#ttlMs === Infinity ? 0 : Math.floor(this.#ttlMs);
      const scope = this.#isPublic && speaker.owner === undefined ? 'public' : 'private';
      members.push('"resultType":"complete"', `"ttlMs":${ttlMs}`, `"cacheScope":"${scope}"`);
    }
    if (this.#missing.length > 0)
      members.push(`"_meta":{"gateway.proxy/unavailable":${JSON.stringify(this.#missing)}}`);
    return { ok: true, result: `{${members.join(',')}}` };
  }
}

/** "Internal error": JSON-RPC has no code of its own for it. */
const unavailable = -32_603;

function refuse(code: number, message: string): ListOutcome {
  return { ok: false, error: { code, message } };
}
