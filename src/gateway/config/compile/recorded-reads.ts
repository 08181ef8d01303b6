// Records the lookups of a compilation step. The next compilation may reuse the outcome as long as every lookup gives the same result, so
// no step has to declare its dependencies.

/** A read-only source of lookups: the `get` of a map. */
export type Lookup<V> = Pick<ReadonlyMap<string, V>, 'get'>;

/** Lookups and their results. */
export type Reads<V> = ReadonlyMap<string, V | undefined>;

const noReads: Reads<never> = new Map();

/** Passes lookups on and records their results. */
export class ReadRecorder<V> implements Lookup<V> {
  readonly #source: Lookup<V>;
  #reads: Map<string, V | undefined> | undefined;

  constructor(source: Lookup<V>) {
    this.#source = source;
  }

  get(key: string): V | undefined {
    const value = this.#source.get(key);
    this.#reads ??= new Map();
    this.#reads.set(key, value);
    return value;
  }

  /** The lookups since the last call of `take`. */
  take(): Reads<V> {
    const reads = this.#reads ?? noReads;
    this.#reads = undefined;
    return reads;
  }
}

/** Whether every lookup still gives the same object. */
export function areReadsStillValid<V>(reads: Reads<V>, source: Lookup<V>): boolean {
  for (const [key, value] of reads) if (source.get(key) !== value) return false;
  return true;
}
