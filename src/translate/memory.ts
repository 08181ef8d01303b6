// Memoizes pure functions from one translation to the next, with the lookups that they made. An outcome is reused while every lookup behind it has the
// same outcome as before: a change recomputes only what depends on it, and everything else stays the same object. (As in incremental compilers: Salsa,
// "demand-driven incremental computation".)
import { isDeepStrictEqual } from 'node:util';

/** The target of a lookup. It stays the same object as long as any memoized outcome depends on it. */
interface Cell {
  /** The current outcome. */
  read(): unknown;
}

/** Alternating: a cell, and the outcome that it had. */
type Lookups = unknown[];

/** Tables and what is derived from them. */
export class Memory {
  /** Counts translations. */
  round = 0;
  /** Cells that were added or removed since the last cleanup. */
  churn = 0;
  readonly #sources: (Table<unknown> | Derived<unknown>)[] = [];
  #lookups: Lookups | undefined;

  /** A table of inputs, empty at first. */
  createTable<V>(): Table<V> {
    const table = new Table<V>(this);
    this.#sources.push(table);
    return table;
  }

  /**
   * A function of a key that looks things up, and is run once per translation at most. An outcome that is equal to the previous one is the previous
   * one; a function that makes many things at once may keep them one by one.
   */
  derive<V>(compute: (key: string, previous: V | undefined) => V): Derived<V> {
    const derived = new Derived<V>(this, compute);
    this.#sources.push(derived as Derived<unknown>);
    return derived;
  }

  /** Begins a translation: inputs may have changed. */
  begin(): void {
    this.round += 1;
  }

  /** Ends a translation, which has asked for everything that is still needed. Forgets the rest after enough churn. */
  end(): void {
    const cells = this.#sources.reduce((sum, { size }) => sum + size, 0);
    if (this.churn <= 256 + cells / 8) return;
    this.churn = 0;
    const needed = new Set<Cell>();
    for (const source of this.#sources) if (source instanceof Derived) source.collectNeeded(needed);
    for (const source of this.#sources) source.forget(needed);
  }

  /** Whether a computation is under way. */
  get isComputing(): boolean {
    return this.#lookups !== undefined;
  }

  /** Notes a lookup of the computation under way, if there is one. */
  note(cell: Cell, outcome: unknown): void {
    this.#lookups?.push(cell, outcome);
  }

  /** Runs a computation and lists what it looked up. */
  record<V>(compute: () => V): { readonly value: V; readonly lookups: Lookups } {
    const outer = this.#lookups;
    const lookups: Lookups = [];
    this.#lookups = lookups;
    try {
      return { value: compute(), lookups };
    } finally {
      this.#lookups = outer;
    }
  }
}

class Slot<V> implements Cell {
  value: V | undefined;

  constructor(value: V | undefined) {
    this.value = value;
  }

  read(): V | undefined {
    return this.value;
  }
}

/** Inputs by key; iteration is in the order in which they were given. */
export class Table<V> {
  readonly #memory: Memory;
  readonly #slots = new Map<string, Slot<V>>();
  readonly #all = new Slot<ReadonlyMap<string, V>>(new Map());

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Puts other entries in place of those that are there. */
  replace(entries: ReadonlyMap<string, V>): void {
    const known = this.#all.value ?? new Map<string, V>();
    if (hasSameEntries(known, entries)) return;
    this.#all.value = entries;
    for (const [key, slot] of this.#slots) slot.value = entries.get(key);
    this.#memory.churn += Math.abs(known.size - entries.size);
  }

  get(key: string): V | undefined {
    if (!this.#memory.isComputing) return this.#all.value?.get(key);
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = new Slot(this.#all.value?.get(key));
      this.#slots.set(key, slot);
      this.#memory.churn += 1;
    }
    this.#memory.note(slot, slot.value);
    return slot.value;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** Reads the whole table: the reader then depends on every entry. */
  entries(): ReadonlyMap<string, V> {
    const { value = new Map<string, V>() } = this.#all;
    this.#memory.note(this.#all, value);
    return value;
  }

  values(): Iterable<V> {
    return this.entries().values();
  }

  /** How many lookups have a cell. */
  get size(): number {
    return this.#slots.size;
  }

  /** Forgets lookups that nothing depends on. */
  forget(needed: ReadonlySet<Cell>): void {
    for (const [key, slot] of this.#slots) if (!needed.has(slot)) this.#slots.delete(key);
  }
}

class Entry<V> implements Cell {
  readonly #memory: Memory;
  readonly #compute: (previous: V | undefined) => V;
  #value: V | undefined;
  #lookups: Lookups | undefined;
  #checked = 0;
  /** The last translation that asked for it directly, not from within another computation. */
  asked = 0;

  constructor(memory: Memory, compute: (previous: V | undefined) => V) {
    this.#memory = memory;
    this.#compute = compute;
  }

  read(): V {
    const { round } = this.#memory;
    if (this.#checked !== round) {
      if (this.#lookups === undefined || !isCurrent(this.#lookups)) this.#run();
      this.#checked = round;
    }
    return this.#value as V;
  }

  #run(): void {
    const { value, lookups } = this.#memory.record(() => this.#compute(this.#value));
    this.#value = this.#lookups === undefined ? value : keepEqual(this.#value, value);
    this.#lookups = lookups;
  }

  /** Adds itself and what it looked up, and what that looked up. */
  collect(needed: Set<Cell>): void {
    if (needed.has(this)) return;
    needed.add(this);
    const lookups = this.#lookups ?? [];
    for (let at = 0; at < lookups.length; at += 2) {
      const cell = lookups[at] as Cell;
      if (cell instanceof Entry) cell.collect(needed);
      else needed.add(cell);
    }
  }
}

/** Outcomes of a function, remembered by key. */
export class Derived<V> {
  readonly #memory: Memory;
  readonly #compute: (key: string, previous: V | undefined) => V;
  readonly #entries = new Map<string, Entry<V>>();

  constructor(memory: Memory, compute: (key: string, previous: V | undefined) => V) {
    this.#memory = memory;
    this.#compute = compute;
  }

  get(key: string): V {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = new Entry<V>(this.#memory, (previous) => this.#compute(key, previous));
      this.#entries.set(key, entry);
      this.#memory.churn += 1;
    }
    const value = entry.read();
    if (this.#memory.isComputing) this.#memory.note(entry, value);
    else entry.asked = this.#memory.round;
    return value;
  }

  /** How many outcomes are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** Adds what this translation asked for. */
  collectNeeded(needed: Set<Cell>): void {
    for (const entry of this.#entries.values()) if (entry.asked === this.#memory.round) entry.collect(needed);
  }

  /** Forgets outcomes that are not needed. */
  forget(needed: ReadonlySet<Cell>): void {
    for (const [key, entry] of this.#entries) if (!needed.has(entry)) this.#entries.delete(key);
  }
}

function isCurrent(lookups: Lookups): boolean {
  for (let at = 0; at < lookups.length; at += 2) if ((lookups[at] as Cell).read() !== lookups[at + 1]) return false;
  return true;
}

/** Replaces the lists of a table. A list with the same members stays the same object. */
export function replaceLists<V>(table: Table<readonly V[]>, lists: ReadonlyMap<string, readonly V[]>): void {
  const known = table.entries();
  const kept = new Map<string, readonly V[]>();
  for (const [key, list] of lists) kept.set(key, keepList(known.get(key), list));
  table.replace(kept);
}

/** The previous list when the next one has the same members in the same order. */
export function keepList<V>(previous: readonly V[] | undefined, next: readonly V[]): readonly V[] {
  if (previous === undefined || previous.length !== next.length) return next;
  for (let at = 0; at < next.length; at++) if (previous[at] !== next[at]) return next;
  return previous;
}

/** The previous value when the next one is equal to it. */
export function keepEqual<V>(previous: V | undefined, next: V): V {
  if (previous === next) return next;
  return previous !== undefined && isDeepStrictEqual(previous, next) ? previous : next;
}

/** Messages, each the previous one of its key when it is equal to that; the previous list when nothing changed. Both are in the same order. */
export function keepMessages<M extends { readonly key: string }>(
  previous: readonly M[] | undefined,
  next: readonly M[],
): readonly M[] {
  if (previous === undefined) return next;
  const kept: M[] = [];
  let places: ReadonlyMap<string, number> | undefined;
  let at = 0;
  for (let index = 0; index < next.length; index++) {
    const message = next[index]!;
    // Most messages are unchanged: at the same index, or shifted by one after an insertion.
    const isNew = at < previous.length && previous[at] === next[index + 1];
    if (previous[at] !== message && !isNew && previous[at]?.key !== message.key) {
      places ??= new Map(previous.map(({ key }, place) => [key, place]));
      at = places.get(message.key) ?? at;
    }
    const known = previous[at];
    const isKnown = known === message || known?.key === message.key;
    kept.push(isKnown ? keepEqual(known, message) : message);
    if (isKnown) at += 1;
  }
  return keepList(previous, kept);
}

/** The previous object when the next one has the same members. */
export function keepShallow<T extends object>(previous: T | undefined, next: T): T {
  if (previous === undefined) return next;
  const names = Object.keys(next) as (keyof T)[];
  const isSame = names.length === Object.keys(previous).length && names.every((name) => next[name] === previous[name]);
  return isSame ? previous : next;
}

function hasSameEntries<V>(left: ReadonlyMap<string, V>, right: ReadonlyMap<string, V>): boolean {
  if (left.size !== right.size) return false;
  const others = right.entries();
  for (const [key, value] of left) {
    const other = others.next().value;
    if (other === undefined || other[0] !== key || other[1] !== value) return false;
  }
  return true;
}
