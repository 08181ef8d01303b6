// Seals everything before it gets into a store. Whoever can read the store learns neither keys nor values, and whoever can write to it can only remove: a value is
// bound to its key, and one that was made up, changed or moved is not opened. Counters stay numbers; only their keys are hidden.
import { createHash } from 'node:crypto';
import { maxSealedLength, type SealProblem, type Sealer } from '../base/sealed.ts';
import type { Store, StoreFailure, StoreResult } from './store.ts';

/** How often a change is tried again whose value somebody else has sealed anew meanwhile. */
const maxTries = 5;

/** `purpose` is a word for the kind of entries, which stays visible in front of the hashed keys: entries of two purposes never meet. */
export function sealStore(store: Store, sealer: Sealer, purpose: string): Store {
  const sealPurpose = `store ${purpose}`;
  const hide = (key: string): string =>
    `${purpose}:${createHash('sha256').update(`mcp-gatehouse store\0${purpose}\0${key}`).digest('base64url')}`;
  const seal = (key: string, value: string): string => sealer.seal(sealPurpose, value, { context: key });
  const open = (key: string, sealed: string | undefined): StoreResult<string | undefined> => {
    if (sealed === undefined) return { ok: true, value: undefined };
    const opened = sealer.open<string>(sealPurpose, sealed, key);
    if (opened.ok) return { ok: true, value: opened.value };
    return isOutdated(opened.problem) ? { ok: true, value: undefined } : describeForeign(purpose, opened.problem);
  };

  return {
    kind: store.kind,
    reach: store.reach,
    async put(key, value, lifetimeMs) {
      const sealed = seal(key, value);
      return isTooLong(sealed) ? tooLong(purpose) : store.put(hide(key), sealed, lifetimeMs);
    },
    async get(key) {
      const got = await store.get(hide(key));
      return got.ok ? open(key, got.value) : got;
    },
    async take(key) {
      const taken = await store.take(hide(key));
      return taken.ok ? open(key, taken.value) : taken;
    },
    count: (key, windowMs) => store.count(hide(key), windowMs),
    async compareAndSet(key, expected, next, lifetimeMs) {
      const hidden = hide(key);
      const sealed = next === undefined ? undefined : seal(key, next);
      if (isTooLong(sealed)) return tooLong(purpose);
      // Whatever is there is something, whether it can be opened or not.
      if (expected === undefined) return store.compareAndSet(hidden, undefined, sealed, lifetimeMs);
      // A value has many sealed forms: what is compared in one step is the form that was just opened.
      for (let tries = 0; tries < maxTries; tries += 1) {
        const got = await store.get(hidden);
        if (!got.ok) return got;
        const current = open(key, got.value);
        if (!current.ok) return current;
        if (current.value !== expected) return { ok: true, value: false };
        const set = await store.compareAndSet(hidden, got.value, sealed, lifetimeMs);
        if (!set.ok || set.value) return set;
      }
      return { ok: false, detail: `an entry of ${purpose} is changed by too many at once` };
    },
    addMember(key, member, lifetimeMs) {
      const [sealed] = sealer.sealRepeatably(sealPurpose, member, key) as [string];
      return store.addMember(hide(key), sealed, lifetimeMs);
    },
    async removeMember(key, member) {
      // Added before the last rotation of keys, it has another form.
      for (const sealed of sealer.sealRepeatably(sealPurpose, member, key)) {
        const removed = await store.removeMember(hide(key), sealed);
        if (!removed.ok) return removed;
      }
      return { ok: true, value: undefined };
    },
    async listMembers(key, limit) {
      const listed = await store.listMembers(hide(key), limit);
      if (!listed.ok) return listed;
      const members = new Set<string>();
      for (const sealed of listed.value) {
        const opened = open(key, sealed);
        if (!opened.ok) return opened;
        if (opened.value !== undefined) members.add(opened.value);
      }
      return { ok: true, value: [...members] };
    },
    probe: () => store.probe(),
    close: () => store.close(),
  };
}

/** What could not be opened again must not be written. */
function isTooLong(sealed: string | undefined): boolean {
  return sealed !== undefined && sealed.length > maxSealedLength;
}

function tooLong(purpose: string): StoreFailure {
  return { ok: false, detail: `an entry of ${purpose} is too long for the store` };
}

/** Sealed with a key that was rotated out since: the entry counts as gone, as everything of that key. */
function isOutdated(problem: SealProblem): boolean {
  return problem === 'unknown_key' || problem === 'expired';
}

function describeForeign(purpose: string, problem: SealProblem): StoreFailure {
  return { ok: false, detail: `the store has an entry of ${purpose} that this gateway did not write (${problem})` };
}
