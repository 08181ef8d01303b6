import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { readWorkers } from './gateway-flags.ts';

test('--workers: a number, or one for each processor', () => {
  const read = (workers: string, maxConnections = 20_000) => readWorkers({ workers, maxConnections });
  assert.deepEqual(read('1'), { ok: true, workers: 1 });
  assert.deepEqual(read('64'), { ok: true, workers: 64 });
  assert.deepEqual(read('auto'), { ok: true, workers: Math.min(64, availableParallelism()) });
  for (const text of ['0', '65', '-1', '1.5', '2x', 'Auto', '', '1e1', '007'])
    assert.deepEqual(read(text), {
      ok: false,
      problem: `--workers must be auto or a whole number between 1 and 64, not ${JSON.stringify(text)}`,
    });
  assert.equal(read('4', 4).ok, true);
  assert.deepEqual(read('4', 3), {
    ok: false,
    problem: '--max-connections must not be less than --workers: each of them gets its share',
  });
});
