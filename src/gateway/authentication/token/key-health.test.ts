import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchKeySource } from './key-health.ts';
import type { KeySource, KeyState } from './key-source.ts';

function createSource(): { source: KeySource; state: KeyState; problem: string | undefined } {
  const fake = {
    state: { ok: false, detail: 'keys were never loaded: down', retryAfterSeconds: 1 } as KeyState,
    problem: 'down' as string | undefined,
  };
  const source: KeySource = {
    getKeys: () => fake.state,
    load: () => undefined,
    refetch: () => undefined,
    describe: () => ({ url: undefined, keys: [], ignored: [], fetchedAtMs: undefined, problem: fake.problem }),
    close() {},
  };
  return Object.assign(fake, { source });
}

test('says why there are no keys, that the last ones are in use, and when all is well', () => {
  const fake = createSource();
  const health = watchKeySource(fake.source);
  assert.equal(watchKeySource(fake.source), health);
  assert.deepEqual(health.findTrouble(), { reason: 'keys were never loaded: down', hasNone: true });
  fake.state = { ok: true, keySet: {} as never, version: '1' };
  assert.deepEqual(health.findTrouble(), { reason: 'down', hasNone: false });
  fake.problem = undefined;
  assert.equal(health.findTrouble(), undefined);
});
