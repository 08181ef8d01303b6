// Knows whether a store answers: by what becomes of each call, and by asking now and then. Says in the log when it stops answering, and when it is back.
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Store, StoreResult } from './store.ts';

interface WatchOptions {
  readonly log: Log;
  readonly clock: Clock;
  /** For people: where the store is. */
  readonly place: string;
}

/** A store that is watched until it is closed. */
export interface WatchedStore extends Store {
  /** Whether the last call was answered. */
  readonly isUp: boolean;
}

/** How often it is asked. */
const probeEveryMs = 5_000;

/** Asks once, and says what it found. */
export async function watchStore(store: Store, { log, clock, place }: WatchOptions): Promise<WatchedStore> {
  let isUp: boolean | undefined;
  let cancel: () => void = () => {};
  let isClosed = false;
  const note = <T>(result: StoreResult<T>): StoreResult<T> => {
    if (result.ok === isUp || isClosed) return result;
    const isFirst = isUp === undefined;
    isUp = result.ok;
    if (!result.ok) {
      const consequence = 'until it answers, logins and refreshes that need it are answered with 503';
      log.error({ store: place }, `the store does not answer (${result.detail}); ${consequence}`);
    } else if (isFirst) {
      log.info({ store: place, reach: store.reach }, `the store is ${place}`);
    } else {
      log.info({ store: place }, 'the store answers again');
    }
    return result;
  };
  const probeLater = (): void => {
    if (isClosed) return;
    cancel = clock.setTimer(() => void store.probe().then(note).then(probeLater), probeEveryMs);
  };
  note(await store.probe());
  probeLater();
  return {
    kind: store.kind,
    reach: store.reach,
    get isUp() {
      return isUp === true;
    },
    put: async (...call) => note(await store.put(...call)),
    get: async (...call) => note(await store.get(...call)),
    take: async (...call) => note(await store.take(...call)),
    count: async (...call) => note(await store.count(...call)),
    compareAndSet: async (...call) => note(await store.compareAndSet(...call)),
    addMember: async (...call) => note(await store.addMember(...call)),
    removeMember: async (...call) => note(await store.removeMember(...call)),
    listMembers: async (...call) => note(await store.listMembers(...call)),
    probe: async () => note(await store.probe()),
    async close() {
      isClosed = true;
      cancel();
      await store.close();
    },
  };
}
