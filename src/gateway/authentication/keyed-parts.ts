// Parts of the gateway that outlive configuration changes, each identified by its input: the same input gives the same part, and unused
// parts are closed.
import { createHash } from 'node:crypto';

/** Parts by the digest of their input. */
export class KeyedParts<T> {
  readonly #parts = new Map<string, T>();
  readonly #close: (part: T) => void;

  /** `close` ends what a part has open. Default: it has nothing. */
  constructor(close: (part: T) => void = () => {}) {
    this.#close = close;
  }

  /** The part made from this input, or a new one. `create` gets the key, which is the same in every process that has the configuration. */
  acquire(input: unknown, create: (key: string) => T): T {
    const key = createHash('sha256').update(JSON.stringify(input)).digest('base64url');
    let part = this.#parts.get(key);
    if (part === undefined) this.#parts.set(key, (part = create(key)));
    return part;
  }

  /** All parts. */
  values(): IterableIterator<T> {
    return this.#parts.values();
  }

  /** Closes the parts that are not used. */
  retain(isUsed: (part: T) => boolean): void {
    for (const [key, part] of this.#parts) {
      if (isUsed(part)) continue;
      this.#parts.delete(key);
      this.#close(part);
    }
  }
}

/** Bytes as part of an input. */
export function describeBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
