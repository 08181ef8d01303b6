// Lists that targets allow to be kept, until their time is over or the target says that they have changed.
import type { ListMethod } from '../read/list-methods.ts';
import type { WholeList } from './fetch-list.ts';
import { formatAudience } from './list-audience.ts';
import type { Speaker } from './target.ts';

interface KeptList {
  readonly list: WholeList;
  readonly expiresAt: number;
}

/** Of callers with lists of their own, those that asked last. */
const maxLists = 512;
/** A server that names a longer time is asked again after this one. */
const longestMs = 3_600_000;

/** The lists of one federation. */
export class ListCache {
  /** The oldest first. */
  readonly #lists = new Map<string, KeptList>();
  readonly #counts = new Map<string, number>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A list that may still be used, with what is left of its time. */
  find(target: string, method: ListMethod, speaker: Speaker): WholeList | undefined {
    for (const owner of [undefined, speaker.owner]) {
      const key = formatKey(target, method, speaker, owner);
      const kept = this.#lists.get(key);
      if (kept === undefined) continue;
      const ttlMs = kept.expiresAt - this.#now();
      if (ttlMs > 0) return { ...kept.list, ttlMs };
      this.#lists.delete(key);
    }
    return undefined;
  }

  /** Keeps a list for as long as its target allows. */
  keep(target: string, method: ListMethod, speaker: Speaker, list: WholeList): void {
    this.#counts.set(`${target}\0${method}`, list.items.length);
    const { ttlMs = 0, isPublic } = list;
    // Somebody whom nobody knows has no list of their own that could be kept.
    if (ttlMs === 0 || (!isPublic && speaker.owner === undefined)) return;
    const key = formatKey(target, method, speaker, isPublic ? undefined : speaker.owner);
    this.#lists.delete(key);
    this.#lists.set(key, { list, expiresAt: this.#now() + Math.min(ttlMs, longestMs) });
    if (this.#lists.size > maxLists) this.#lists.delete(this.#lists.keys().next().value!);
  }

  /** How many entries the target listed last. */
  countLast(target: string, method: ListMethod): number | undefined {
    return this.#counts.get(`${target}\0${method}`);
  }

  /** The target is another one now, or its lists have changed. */
  forget(target: string): void {
    for (const key of this.#lists.keys()) if (key.startsWith(`${target}\0`)) this.#lists.delete(key);
  }
}

function formatKey(target: string, method: ListMethod, speaker: Speaker, owner: string | undefined): string {
  return [target, method, formatAudience(speaker), owner ?? ''].join('\0');
}
