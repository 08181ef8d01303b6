// State that has to outlive a request and cannot travel with the client: a small interface, one driver per file. Nothing on the path of an MCP request uses it.

/** The store does not answer, or refuses. The caller cannot know whether a write took place. */
export interface StoreFailure {
  readonly ok: false;
  /** For the operator; never holds a value or a credential. */
  readonly detail: string;
}

/** No promise of a store rejects because of the store: an outage is a value. */
export type StoreResult<T> = { readonly ok: true; readonly value: T } | StoreFailure;

/** Keys are short texts of the program's own making, values are texts. Every entry has a lifetime. */
export interface Store {
  readonly kind: 'memory' | 'sqlite' | 'redis';
  /**
   * Who sees what is written: this process until it ends (`process`), every process on this machine, also after a restart (`machine`), or every gateway that
   * has the same store (`shared`).
   */
  readonly reach: 'process' | 'machine' | 'shared';
  /** Writes, whatever was there. */
  put(key: string, value: string, lifetimeMs: number): Promise<StoreResult<undefined>>;
  get(key: string): Promise<StoreResult<string | undefined>>;
  /** Reads and removes in one step: of several callers exactly one gets the value. */
  take(key: string): Promise<StoreResult<string | undefined>>;
  /** Adds one to a counter that begins at 0 and ends `windowMs` after its first count; the value is the sum. */
  count(key: string, windowMs: number): Promise<StoreResult<number>>;
  /** Writes `next` (undefined: removes) if the value is `expected` (undefined: nothing is there). The value: whether it was written. */
  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    lifetimeMs: number,
  ): Promise<StoreResult<boolean>>;
  /** Adds a member to a set; the set ends `lifetimeMs` after the last addition. */
  addMember(key: string, member: string, lifetimeMs: number): Promise<StoreResult<undefined>>;
  removeMember(key: string, member: string): Promise<StoreResult<undefined>>;
  /** At most `limit` of them, in no order. */
  listMembers(key: string, limit: number): Promise<StoreResult<readonly string[]>>;
  /** Whether it answers now. */
  probe(): Promise<StoreResult<undefined>>;
  close(): Promise<void>;
}
