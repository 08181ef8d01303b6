// Opens the store that the settings name. Drivers are loaded when they are needed.
import type { Log } from '../base/log.ts';
import { createMemoryStore } from './memory-store.ts';
import type { OpenedStore } from './open-outcome.ts';
import type { StoreAddress } from './store-address.ts';

/** Where the store is, and how to get in. Plain data: workers are sent it. */
export interface StoreSettings {
  readonly address: StoreAddress;
  /** Of a server; undefined: its default user. */
  readonly username: string | undefined;
  readonly passwordFile: string | undefined;
  readonly caFile: string | undefined;
  /** Tells several gateways on one server apart that must not see each other's entries; empty: none. */
  readonly scope: string;
}

interface OpenStoreOptions {
  readonly log: Log;
  /** A server that refuses (a wrong password, say) is a store that is down, and is tried again. Otherwise it is a problem. */
  readonly startsAnyway?: boolean;
}

/** Opens it. A server that cannot be reached is never a problem: the store is down until it is there. */
export async function openStore(settings: StoreSettings, options: OpenStoreOptions): Promise<OpenedStore> {
  const { address } = settings;
  switch (address.kind) {
    case 'memory':
      return { ok: true, store: createMemoryStore() };
    case 'sqlite':
      return (await import('./sqlite-store.ts')).openSqliteStore(address.path);
    case 'redis':
      return (await import('./redis-store.ts')).openRedisStore({ ...settings, ...options, address });
  }
}
