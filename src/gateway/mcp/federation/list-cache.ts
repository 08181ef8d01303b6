// Lists that targets allow to be kept, until their time is over or the target says that they have changed.
import type { ListMethod } from '../read/list-methods.ts';
import type { WholeList } from './fetch-list.ts';
import { formatAudience } from './list-audience.ts';
import type { ListItem } from './read-list-page.ts';
import type { Speaker } from './target.ts';

interface KeptList {
  readonly list: WholeList;
  readonly expiresAt: number;
  /** Characters. */
  readonly weight: number;
}

/** How much is kept: of callers with lists of their own, for those that asked last. */
export interface ListCacheLimits {
  readonly lists: number;
  /** Characters of all entries, with their names. */
  readonly characters: number;
}

/** As documented. */
const defaultLimits: ListCacheLimits = { lists: 512, characters: 67_108_864 };
/** A server that names a longer time is asked again after this one. */
const longestMs = 3_600_000;

/** The lists of one federation. */
export class ListCache {
  /** The oldest first. */
  readonly #lists = new Map<string, KeptList>();
  readonly #counts = new Map<string, number>();
  /** How often the lists of a target were forgotten. */
  readonly #epochs = new Map<string, number>();
  readonly #now: () => number;
  readonly #limits: ListCacheLimits;
  #characters = 0;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number, limits: ListCacheLimits = defaultLimits) {
    this.#now = now;
    this.#limits = limits;
  }

  /** A list that may still be used, with what is left of its time. */
  find(target: string, method: ListMethod, speaker: Speaker): WholeList | undefined {
    for (const owner of [undefined, speaker.owner]) {
      const key = formatKey(target, method, speaker, owner);
      const kept = this.#lists.get(key);
      if (kept === undefined) continue;
      const ttlMs = kept.expiresAt - this.#now();
      if (ttlMs > 0) return { ...kept.list, ttlMs };
      this.#delete(key);
    }
    return undefined;
  }

  /** To be asked before a list is fetched, and told with it: it may be outdated when it arrives. */
  epochOf(target: string): number {
    return this.#epochs.get(target) ?? 0;
  }

  /** Keeps a list for as long as its target allows. */
  keep(target: string, method: ListMethod, speaker: Speaker, list: WholeList, epoch = this.epochOf(target)): void {
    if (epoch !== this.epochOf(target)) return;
    this.#counts.set(`${target}\0${method}`, list.items.length);
    const { ttlMs = 0, isPublic } = list;
    // Somebody whom nobody knows has no list of their own that could be kept.
    if (ttlMs === 0 || (!isPublic && speaker.owner === undefined)) return;
    const key = formatKey(target, method, speaker, isPublic ? undefined : speaker.owner);
    this.#delete(key);
    const { lists, characters } = this.#limits;
    const weight = list.items.reduce((sum, { own, text }) => sum + own.length + text.length, key.length);
    if (weight > characters) return;
    const expiresAt = this.#now() + Math.min(ttlMs, longestMs);
    this.#lists.set(key, { list: { ...list, items: detach(list.items) }, expiresAt, weight });
    this.#characters += weight;
    while (this.#lists.size > lists || this.#characters > characters) this.#delete(this.#lists.keys().next().value!);
  }

  /** How many entries the target listed last. */
  countLast(target: string, method: ListMethod): number | undefined {
    return this.#counts.get(`${target}\0${method}`);
  }

  /** The target is another one now, or its lists have changed. */
  forget(target: string): void {
    this.#epochs.set(target, this.epochOf(target) + 1);
    for (const key of this.#lists.keys()) if (key.startsWith(`${target}\0`)) this.#delete(key);
  }

  #delete(key: string): void {
    const kept = this.#lists.get(key);
    if (kept === undefined) return;
    this.#lists.delete(key);
    this.#characters -= kept.weight;
  }
}

/** Entries in a text of their own: as parts of the message they would keep all of it in memory. */
function detach(items: readonly ListItem[]): readonly ListItem[] {
  const whole = items.map(({ own, text }) => own + text).join('');
  let at = 0;
  const cut = (length: number): string => whole.slice(at, (at += length));
  return items.map(({ own, text }) => ({ own: cut(own.length), text: cut(text.length) }));
}

function formatKey(target: string, method: ListMethod, speaker: Speaker, owner: string | undefined): string {
  return [target, method, formatAudience(speaker), owner ?? ''].join('\0');
}
