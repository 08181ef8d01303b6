// The store inside the process: nobody else sees it, and it ends with the process. Bounded; when it is full it refuses, because forgetting what was used once
// would allow to use it again.
import { readLifetime } from './lifetime.ts';
import type { Store, StoreFailure, StoreResult } from './store.ts';

interface MemoryStoreOptions {
  /** Values, counters and members of sets together. */
  readonly maxEntries?: number;
  readonly now?: () => number;
}

interface Timed<T> {
  readonly content: T;
  readonly endsAtMs: number;
}

const defaultMaxEntries = 100_000;
/** How often what has expired is looked for, beyond what is asked for. */
const sweepEveryMs = 60_000;

const done: StoreResult<undefined> = { ok: true, value: undefined };

/** Creates an empty store. */
export function createMemoryStore({ maxEntries = defaultMaxEntries, now = Date.now }: MemoryStoreOptions = {}): Store {
  const values = new Map<string, Timed<string>>();
  const counters = new Map<string, Timed<number>>();
  const sets = new Map<string, Timed<Set<string>>>();
  let memberCount = 0;
  let sweptAtMs = now();

  const find = <T>(map: Map<string, Timed<T>>, key: string): Timed<T> | undefined => {
    const found = map.get(key);
    return found !== undefined && found.endsAtMs > now() ? found : undefined;
  };
  const sweep = (): void => {
    sweptAtMs = now();
    for (const map of [values, counters])
      for (const [key, { endsAtMs }] of map) if (endsAtMs <= sweptAtMs) map.delete(key);
    for (const [key, { content, endsAtMs }] of sets) {
      if (endsAtMs > sweptAtMs) continue;
      sets.delete(key);
      memberCount -= content.size;
    }
  };
  const isFull = (): boolean => values.size + counters.size + memberCount >= maxEntries;
  /** Undefined: there is room for one more entry. */
  const findNoRoom = (): StoreFailure | undefined => {
    if (isFull() || now() - sweptAtMs >= sweepEveryMs) sweep();
    return isFull() ? { ok: false, detail: `the memory store is full: it has ${maxEntries} entries` } : undefined;
  };
  const write = (key: string, value: string, lifetimeMs: number): StoreResult<undefined> => {
    const noRoom = values.has(key) ? undefined : findNoRoom();
    if (noRoom !== undefined) return noRoom;
    values.set(key, { content: value, endsAtMs: now() + lifetimeMs });
    return done;
  };

  return {
    kind: 'memory',
    reach: 'process',
    async put(key, value, lifetimeMs) {
      return write(key, value, readLifetime(lifetimeMs));
    },
    async get(key) {
      return { ok: true, value: find(values, key)?.content };
    },
    async take(key) {
      const found = find(values, key);
      values.delete(key);
      return { ok: true, value: found?.content };
    },
    async count(key, windowMs) {
      const lifetimeMs = readLifetime(windowMs);
      const found = find(counters, key);
      const noRoom = counters.has(key) ? undefined : findNoRoom();
      if (noRoom !== undefined) return noRoom;
      const content = (found?.content ?? 0) + 1;
      counters.set(key, { content, endsAtMs: found?.endsAtMs ?? now() + lifetimeMs });
      return { ok: true, value: content };
    },
    async compareAndSet(key, expected, next, lifetimeMs) {
      const lifetime = readLifetime(lifetimeMs);
      if (find(values, key)?.content !== expected) return { ok: true, value: false };
      if (next === undefined) {
        values.delete(key);
        return { ok: true, value: true };
      }
      const written = write(key, next, lifetime);
      return written.ok ? { ok: true, value: true } : written;
    },
    async addMember(key, member, lifetimeMs) {
      const endsAtMs = now() + readLifetime(lifetimeMs);
      const noRoom = find(sets, key)?.content.has(member) === true ? undefined : findNoRoom();
      if (noRoom !== undefined) return noRoom;
      const found = find(sets, key);
      // One that has expired may still be there.
      if (found === undefined) memberCount -= sets.get(key)?.content.size ?? 0;
      const content = found?.content ?? new Set<string>();
      memberCount -= content.size;
      content.add(member);
      memberCount += content.size;
      sets.set(key, { content, endsAtMs });
      return done;
    },
    async removeMember(key, member) {
      const content = find(sets, key)?.content;
      if (content?.delete(member) === true) memberCount -= 1;
      if (content?.size === 0) sets.delete(key);
      return done;
    },
    async listMembers(key, limit) {
      return { ok: true, value: [...(find(sets, key)?.content ?? [])].slice(0, limit) };
    },
    async probe() {
      return done;
    },
    async close() {
      values.clear();
      counters.clear();
      sets.clear();
      memberCount = 0;
    },
  };
}
