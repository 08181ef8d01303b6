// The flags about the store of a gateway: where logins are kept that have to be seen by more than one request.
import type { StoreSettings } from '../store/open-store.ts';
import { readStoreAddress } from '../store/store-address.ts';
import { defineFlags, type FlagValues } from './flags.ts';

export const storeFlags = defineFlags({
  store: {
    type: 'string',
    default: 'memory',
    env: 'MCP_GATEHOUSE_STORE',
    placeholder: 'STORE',
    help: 'Where logins are kept that several requests have to know of: memory, sqlite:PATH (one machine), redis://host:port/db or rediss:// (several gateways)',
  },
  storeUsername: {
    type: 'string',
    env: 'MCP_GATEHOUSE_STORE_USERNAME',
    placeholder: 'NAME',
    help: 'With --store-password-file: the user at the server; its default user when absent',
  },
  storePasswordFile: {
    type: 'string',
    env: 'MCP_GATEHOUSE_STORE_PASSWORD_FILE',
    placeholder: 'PATH',
    help: 'With --store redis:// or rediss://: the file with the password; read again for every connection',
  },
  storeCaFile: {
    type: 'string',
    env: 'MCP_GATEHOUSE_STORE_CA_FILE',
    placeholder: 'PATH',
    help: "With --store rediss://: the file with the CA that signed the server's certificate. When absent: the system's roots",
  },
});

/** The settings, or what is wrong with the flags, one line each. */
type ReadStore =
  | { readonly ok: true; readonly settings: StoreSettings }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads --store and the flags that go with it. `scope` is that of the gateway's entries; empty: none. */
export function readStoreFlags(values: FlagValues<typeof storeFlags>, scope = ''): ReadStore {
  const { store, storeUsername: username, storePasswordFile: passwordFile, storeCaFile: caFile } = values;
  const read = readStoreAddress(store);
  if (!read.ok) return { ok: false, problems: [`--store ${read.problem}`] };
  const { address } = read;
  const isServer = address.kind === 'redis';
  const problems = [
    !isServer && passwordFile !== undefined
      ? '--store-password-file goes with --store redis://... or rediss://...'
      : undefined,
    !isServer && username !== undefined ? '--store-username goes with --store redis://... or rediss://...' : undefined,
    isServer && username !== undefined && passwordFile === undefined
      ? '--store-username goes with --store-password-file: a user alone is not let in'
      : undefined,
    caFile !== undefined && !(isServer && address.isTls)
      ? '--store-ca-file goes with --store rediss://..., which is TLS'
      : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, settings: { address, username, passwordFile, caFile, scope } };
}
