// Whose item a name is where names carry no prefix: that of the one target that lists it. What a target listed last counts until it lists again, however long it is down:
// so the answer never depends on who is up, and no name changes hands because its owner is away. A name that two targets claim is nobody's.
//
// A server may list other items to other callers, so what it told each of them is kept (a view), and a name is claimed by whoever listed it to anybody.
import { compileUriTemplate } from '../names/uri-template.ts';
import type { ItemKind } from '../read/read-item.ts';
import type { ListMethod } from '../read/list-methods.ts';

export type Ownership =
  | { readonly kind: 'owned'; readonly target: string }
  /** By name, in order. */
  | { readonly kind: 'contested'; readonly targets: readonly string[] }
  | { readonly kind: 'unknown' };

/** A name that several targets list. */
export interface ContestedName {
  readonly kind: ItemKind;
  readonly name: string;
  readonly targets: readonly string[];
}

/** What a new list has changed about contested names. */
export interface OwnershipChange {
  readonly contested: readonly ContestedName[];
  /** Nobody or one target claims them now. */
  readonly settled: readonly ContestedName[];
}

/** The lists that say who has an item of a kind. */
export const listsOfKind: Readonly<Record<ItemKind, readonly ListMethod[]>> = {
  tool: ['tools/list'],
  prompt: ['prompts/list'],
  resource: ['resources/list', 'resources/templates/list'],
};

const kindOfList: Readonly<Record<ListMethod, ItemKind>> = {
  'tools/list': 'tool',
  'prompts/list': 'prompt',
  'resources/list': 'resource',
  'resources/templates/list': 'resource',
};

/** What a target listed to one caller. */
interface View {
  readonly names: readonly string[];
  readonly atMs: number;
  readonly epoch: number;
}

interface Template {
  readonly target: string;
  readonly matches: (uri: string) => boolean;
}

/** Of callers with lists of their own; those that asked last. */
const maxViews = 128;
/** Who has not asked for so long is asked for again. */
const longestMs = 3_600_000;

const unknown: Ownership = { kind: 'unknown' };

export class Owners {
  readonly #now: () => number;
  /** By target and list; the oldest view first. */
  readonly #views = new Map<string, Map<ListMethod, Map<string, View>>>();
  /** Higher since the lists of the target may be others. */
  readonly #epochs = new Map<string, number>();
  readonly #claims: Record<ItemKind, ReadonlyMap<string, ReadonlySet<string>>> = {
    tool: new Map(),
    prompt: new Map(),
    resource: new Map(),
  };
  #contested: ReadonlyMap<string, ContestedName> = new Map();
  #templates: readonly Template[] = [];

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get contested(): readonly ContestedName[] {
    return [...this.#contested.values()];
  }

  /** To be asked before a list is fetched, and told with it: it may be outdated when it arrives. */
  epochOf(target: string): number {
    return this.#epochs.get(target) ?? 0;
  }

  /** A target has listed all of these, by its own names, to a caller (`view`). */
  note(
    target: string,
    method: ListMethod,
    view: string,
    names: readonly string[],
    epoch: number,
  ): OwnershipChange | undefined {
    const lists = this.#views.get(target) ?? new Map<ListMethod, Map<string, View>>();
    this.#views.set(target, lists);
    const views = lists.get(method) ?? new Map<string, View>();
    lists.set(method, views);
    const before = joinNames(views);
    const atMs = this.#now();
    const same = [...views.values()].find((other) => isSame(other.names, names));
    views.delete(view);
    views.set(view, { names: same?.names ?? names, atMs, epoch });
    for (const [key, other] of views)
      if (other.epoch < epoch || atMs - other.atMs > longestMs || views.size > maxViews) views.delete(key);
    return isSameSet(before, joinNames(views)) ? undefined : this.#claim(kindOfList[method]);
  }

  /** When the target listed that to this caller; undefined: never, or it may list others now. */
  listedAt(target: string, method: ListMethod, view: string): number | undefined {
    const known = this.#views.get(target)?.get(method)?.get(view);
    return known === undefined || known.epoch < this.epochOf(target) ? undefined : known.atMs;
  }

  /** Whether the target ever listed that to anybody. */
  hasListed(target: string, method: ListMethod): boolean {
    return this.#views.get(target)?.has(method) === true;
  }

  /** The lists of a target may be others now. Those that are known count until it has listed again. */
  outdate(target: string): void {
    this.#epochs.set(target, this.epochOf(target) + 1);
  }

  /** The target is none any more. */
  drop(target: string): OwnershipChange | undefined {
    if (!this.#views.delete(target)) return undefined;
    const changes = (['tool', 'prompt', 'resource'] as const).map((kind) => this.#claim(kind));
    return {
      contested: changes.flatMap((change) => change?.contested ?? []),
      settled: changes.flatMap((change) => change?.settled ?? []),
    };
  }

  /** Whose item it is: the exact entry of a list, then a template. `serves`: whether the target may have it, as it is configured. */
  find(kind: ItemKind, name: string, serves: (target: string) => boolean = () => true): Ownership {
    const listed = [...(this.#claims[kind].get(name) ?? [])].filter(serves);
    if (listed.length > 0 || kind !== 'resource') return decide(listed);
    const matching = new Set<string>();
    for (const { target, matches } of this.#templates)
      if (!matching.has(target) && serves(target) && matches(name)) matching.add(target);
    return decide([...matching]);
  }

  /** Whether an entry of this list is nobody's. */
  isContested(method: ListMethod, name: string): boolean {
    return this.#contested.has(formatKey(kindOfList[method], name));
  }

  #claim(kind: ItemKind): OwnershipChange | undefined {
    const claims = new Map<string, Set<string>>();
    const templates: Template[] = [];
    for (const [target, lists] of this.#views)
      for (const method of listsOfKind[kind])
        for (const name of joinNames(lists.get(method))) {
          const claimants = claims.get(name);
          if (claimants === undefined) claims.set(name, new Set([target]));
          else claimants.add(target);
          const matches = method === 'resources/templates/list' ? compileUriTemplate(name) : undefined;
          if (matches !== undefined) templates.push({ target, matches });
        }
    this.#claims[kind] = claims;
    if (kind === 'resource') this.#templates = templates;
    return this.#compare(kind, claims);
  }

  #compare(kind: ItemKind, claims: ReadonlyMap<string, ReadonlySet<string>>): OwnershipChange | undefined {
    const now = new Map<string, ContestedName>();
    const contested: ContestedName[] = [];
    for (const [name, claimants] of claims) {
      if (claimants.size < 2) continue;
      const key = formatKey(kind, name);
      const entry = { kind, name, targets: [...claimants].toSorted() };
      now.set(key, entry);
      const before = this.#contested.get(key);
      if (before === undefined || before.targets.join('\0') !== entry.targets.join('\0')) contested.push(entry);
    }
    const settled: ContestedName[] = [];
    for (const [key, entry] of this.#contested) {
      if (entry.kind !== kind) now.set(key, entry);
      else if (!now.has(key)) settled.push(entry);
    }
    this.#contested = now;
    return contested.length + settled.length === 0 ? undefined : { contested, settled };
  }
}

function decide(targets: readonly string[]): Ownership {
  const [target] = targets;
  if (target === undefined) return unknown;
  return targets.length === 1 ? { kind: 'owned', target } : { kind: 'contested', targets: targets.toSorted() };
}

function formatKey(kind: ItemKind, name: string): string {
  return `${kind}\0${name}`;
}

const nothing: ReadonlySet<string> = new Set();

/** What a target listed to anybody. */
function joinNames(views: ReadonlyMap<string, View> | undefined): ReadonlySet<string> {
  if (views === undefined) return nothing;
  // Views that are the same share their names.
  const lists = new Set(Array.from(views.values(), ({ names }) => names));
  const joined = new Set<string>();
  for (const names of lists) for (const name of names) joined.add(name);
  return joined;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, index) => name === others[index]);
}

function isSameSet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every((name) => others.has(name));
}
