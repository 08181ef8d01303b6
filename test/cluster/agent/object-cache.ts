// What the API server has of one kind, kept current by a watch.
import type { ApiClient, ApiObject } from '../api-client.ts';

/** Told after every change. `object` is undefined after a deletion. */
export type CacheListener<T> = (key: string, object: T | undefined) => void;

/** Objects by `namespace/name`. */
export class ObjectCache<T extends ApiObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<CacheListener<T>>();
  readonly #synced = Promise.withResolvers<void>();

  /** Begins to watch; `path` as in the API reference. */
  constructor(client: ApiClient, path: string, signal: AbortSignal) {
    void client.watch<T>(
      path,
      {
        onList: (objects) => {
          const keys = new Set(objects.map((object) => nameKey(object)));
          for (const key of this.#objects.keys()) if (!keys.has(key)) this.#set(key, undefined);
          for (const object of objects) this.#set(nameKey(object), object);
          this.#synced.resolve();
        },
        onChange: (object) => this.#set(nameKey(object), object),
        onDelete: (object) => this.#set(nameKey(object), undefined),
      },
      signal,
    );
  }

  /** Resolves when everything that was there at the start is known. */
  waitSynced(): Promise<void> {
    return this.#synced.promise;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  /** Tells a listener about what is there and everything that changes; returns what ends it. */
  subscribe(listener: CacheListener<T>): () => void {
    this.#listeners.add(listener);
    for (const [key, object] of this.#objects) listener(key, object);
    return () => this.#listeners.delete(listener);
  }

  #set(key: string, object: T | undefined): void {
    const before = this.#objects.get(key);
    if (
      before?.metadata.resourceVersion === object?.metadata.resourceVersion &&
      before?.metadata.uid === object?.metadata.uid
    )
      return;
    if (object === undefined) this.#objects.delete(key);
    else this.#objects.set(key, object);
    for (const listener of this.#listeners) listener(key, object);
  }
}

/** `namespace/name`; for objects without a namespace `/name`. */
export function nameKey(object: ApiObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
