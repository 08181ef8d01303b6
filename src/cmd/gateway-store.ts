// The store of a gateway process: opened before anything is served, watched, and shown in the metrics.
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { openStore, type StoreSettings } from '../store/open-store.ts';
import { formatStoreAddress } from '../store/store-address.ts';
import type { Store } from '../store/store.ts';
import { watchStore } from '../store/watched-store.ts';
import { StartError } from './start-error.ts';

/** Throws a StartError when only a person can help: a file that cannot be used, a server that refuses. */
export async function openGatewayStore(settings: StoreSettings, log: Log, metrics: Metrics): Promise<Store> {
  const opened = await openStore(settings, { log });
  if (!opened.ok) throw new StartError(`--store: ${opened.problem}`);
  // There is nothing that could fail.
  if (opened.store.kind === 'memory') return opened.store;
  const store = await watchStore(opened.store, {
    log,
    clock: systemClock,
    place: formatStoreAddress(settings.address),
  });
  metrics.gaugeOf('mcp_gateway_store_up', '1 while the store (--store) answers.', () => Number(store.isUp));
  return store;
}
