// What a step of the compilation has looked up. Its outcome may be taken over by the next compilation as long as every answer would be the same:
// nobody has to keep a list of what depends on what.

/** What steps may ask: the `get` of a map. */
export type Lookup<V> = Pick<ReadonlyMap<string, V>, 'get'>;

/** Questions and answers. */
export type Reads<V> = ReadonlyMap<string, V | undefined>;

const noReads: Reads<never> = new Map();

/** Passes questions on, and remembers the answers. */
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

  /** What was asked since the last call of this. */
  take(): Reads<V> {
    const reads = this.#reads ?? noReads;
    this.#reads = undefined;
    return reads;
  }
}

/** Whether every answer would be the very same object today. */
export function areReadsStillTrue<V>(reads: Reads<V>, source: Lookup<V>): boolean {
  for (const [key, value] of reads) if (source.get(key) !== value) return false;
  return true;
}
