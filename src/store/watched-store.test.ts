import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Log, silentLog } from '../base/log.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { createMemoryStore } from './memory-store.ts';
import type { Store } from './store.ts';
import { testStore } from './testing/store-contract.ts';
import { watchStore } from './watched-store.ts';

const clock = createManualClock();

testStore({
  name: 'watched',
  open: () =>
    watchStore(createMemoryStore({ now: () => clock.now() }), {
      log: silentLog,
      clock: createManualClock(),
      place: 'memory',
    }),
  pass: (ms) => clock.advance(ms),
});

/** A store whose server can be switched off. */
function createSwitched(): { readonly store: Store; isDown: boolean } {
  const memory = createMemoryStore();
  const down = async (): Promise<{ readonly ok: false; readonly detail: string }> => ({ ok: false, detail: 'gone' });
  const switched = {
    isDown: false,
    store: new Proxy(memory, {
      get: (target, name: keyof Store) =>
        typeof target[name] === 'function' && name !== 'close' && switched.isDown ? down : target[name],
    }),
  };
  return switched;
}

function createLines(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (_: object, message: string): void =>
      void lines.push(`${level}: ${message}`);
  return { log: { ...silentLog, info: write('info'), error: write('error') }, lines };
}

const place = 'redis://cache:6379/0';
const gone =
  'error: the store does not answer (gone); until it answers, logins and refreshes that need it are answered with 503';

describe('a watched store', () => {
  test('says once that it is down, and once that it is back', async () => {
    const switched = createSwitched();
    const { log, lines } = createLines();
    const own = createManualClock();
    const store = await watchStore(switched.store, { log, clock: own, place });
    assert.deepEqual([store.isUp, lines], [true, [`info: the store is ${place}`]]);
    switched.isDown = true;
    await store.get('a');
    await store.put('a', '1', 1_000);
    await own.advance(20_000);
    assert.deepEqual([store.isUp, lines.slice(1)], [false, [gone]]);
    switched.isDown = false;
    await own.advance(5_000);
    assert.deepEqual([store.isUp, lines.slice(2)], [true, ['info: the store answers again']]);
    await own.advance(20_000);
    assert.equal(lines.length, 3);
    await store.close();
    assert.deepEqual(own.pendingDelays(), []);
  });

  test('that is down at the start says so, and notices by itself when it is up', async () => {
    const switched = createSwitched();
    switched.isDown = true;
    const { log, lines } = createLines();
    const own = createManualClock();
    const store = await watchStore(switched.store, { log, clock: own, place });
    assert.deepEqual([store.isUp, lines], [false, [gone]]);
    switched.isDown = false;
    await own.advance(5_000);
    assert.deepEqual([store.isUp, lines.slice(1)], [true, ['info: the store answers again']]);
    await store.close();
  });
});
