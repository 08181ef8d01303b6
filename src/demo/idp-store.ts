// The in-memory store of the demo's identity provider: sessions, grants, clients, codes, tokens. Lost when the demo stops.

/** Something that oidc-provider stores. */
interface StoredItem {
  readonly uid?: string;
  readonly userCode?: string;
  readonly grantId?: string;
  readonly consumed?: number;
  readonly [member: string]: unknown;
}

interface Entry {
  item: StoredItem;
  readonly expiresAtMs: number;
}

/** The adapter of one kind of item, as oidc-provider calls it. */
interface IdpStoreAdapter {
  upsert(id: string, item: StoredItem, expiresInSeconds?: number): Promise<void>;
  find(id: string): Promise<StoredItem | undefined>;
  findByUid(uid: string): Promise<StoredItem | undefined>;
  findByUserCode(userCode: string): Promise<StoredItem | undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(grantId: string): Promise<void>;
}

/** Creates the store; the function that it returns makes the adapter for a kind of item. */
export function createIdpStore(now: () => number = Date.now): (kind: string) => IdpStoreAdapter {
  const kinds = new Map<string, Map<string, Entry>>();

  const removeExpired = (): void => {
    for (const entries of kinds.values())
      for (const [id, entry] of entries) if (entry.expiresAtMs <= now()) entries.delete(id);
  };

  return (kind) => {
    const entries = kinds.get(kind) ?? new Map<string, Entry>();
    kinds.set(kind, entries);
    const findEntry = (accept: (id: string, item: StoredItem) => boolean): Entry | undefined => {
      removeExpired();
      return entries.entries().find(([id, entry]) => accept(id, entry.item))?.[1];
    };
    return {
      async upsert(id, item, expiresInSeconds) {
        removeExpired();
        const expiresAtMs = expiresInSeconds === undefined ? Infinity : now() + expiresInSeconds * 1_000;
        entries.set(id, { item, expiresAtMs });
      },
      find: async (id) => findEntry((each) => each === id)?.item,
      findByUid: async (uid) => findEntry((_, item) => item.uid === uid)?.item,
      findByUserCode: async (userCode) => findEntry((_, item) => item.userCode === userCode)?.item,
      async consume(id) {
        const entry = entries.get(id);
        // oidc-provider refuses a code or a refresh token that carries this mark.
        if (entry !== undefined) entry.item = { ...entry.item, consumed: Math.floor(now() / 1_000) };
      },
      async destroy(id) {
        entries.delete(id);
      },
      async revokeByGrantId(grantId) {
        for (const [id, { item }] of entries) if (item.grantId === grantId) entries.delete(id);
      },
    };
  };
}
