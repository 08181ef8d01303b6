import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Endpoint, UpstreamBackend } from '../forward/upstream/upstreams.ts';
import { findCandidates } from './find-candidates.ts';

function openPool(...names: string[]) {
  const known = new Set(names);
  const pool = { findByName: (name: string) => (known.has(name) ? ({ name } as unknown as Endpoint) : undefined) };
  return { known, pool: pool as unknown as UpstreamBackend };
}

/** What is found, in words, and the time that it takes. */
function search(destination: string, getPool: () => UpstreamBackend | undefined) {
  const found: string[] = [];
  let now = 0;
  const stop = findCandidates(
    destination,
    getPool,
    () => now,
    (candidates) => {
      const names = candidates.map((candidate) => (candidate as unknown as { name: string }).name);
      found.push(names.join(',') || 'nothing');
    },
  );
  const wait = (milliseconds: number): void => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  return { found, stop, wait };
}

test('endpoints of the pool are found at once, in the order of the choice', () => {
  const { pool } = openPool('a:1', 'b:1');
  assert.deepEqual(search('b:1, x:1, a:1', () => pool).found, ['b:1,a:1']);
  assert.deepEqual(search(' , ', () => pool).found, ['nothing']);
});

test('an endpoint that comes is waited for, one that does not for a second', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { known, pool } = openPool('a:1');
  let current: UpstreamBackend | undefined = pool;
  const late = search('c:1', () => current);
  for (let turn = 0; turn < 20; turn += 1) late.wait(20);
  assert.deepEqual(late.found, []);
  known.add('c:1');
  late.wait(20);
  assert.deepEqual(late.found, ['c:1']);

  const never = search('d:1', () => current);
  for (let turn = 0; turn < 49; turn += 1) never.wait(20);
  assert.deepEqual(never.found, []);
  never.wait(20);
  assert.deepEqual(never.found, ['nothing']);

  const stopped = search('d:1', () => current);
  stopped.stop();
  for (let turn = 0; turn < 60; turn += 1) stopped.wait(20);
  assert.deepEqual(stopped.found, []);

  current = undefined;
  const gone = search('a:1', () => current);
  for (let turn = 0; turn < 50; turn += 1) gone.wait(20);
  assert.deepEqual(gone.found, ['nothing']);
});
