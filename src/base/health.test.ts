import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth, DuplicateCheckError } from './health.ts';

test('ready when every check passes, with reasons until then', () => {
  const health = createHealth();
  assert.equal(health.read().ready, false);
  const config = health.addCheck('configuration', 'not loaded yet');
  const listeners = health.addCheck('listeners', 'not bound yet');
  config.pass();
  assert.deepEqual(health.read(), {
    ready: false,
    checks: [
      { name: 'configuration', ready: true, reason: undefined },
      { name: 'listeners', ready: false, reason: 'not bound yet' },
    ],
  });
  listeners.pass();
  assert.equal(health.read().ready, true);
  listeners.fail('draining');
  assert.equal(health.read().checks[1]?.reason, 'draining');
});

test('a check has one owner', () => {
  const health = createHealth();
  health.addCheck('a', 'x');
  assert.throws(() => health.addCheck('a', 'y'), DuplicateCheckError);
});
