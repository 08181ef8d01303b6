import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { TargetHealth } from './target-health.ts';

function start(t: TestContext): { health: TargetHealth; probes: () => number; changes: string[]; downs: () => number } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let probes = 0;
  let downs = 0;
  const changes: string[] = [];
  const health = new TargetHealth({
    probe() {
      probes += 1;
      return Promise.resolve();
    },
    random: () => 1,
    onDown: () => (downs += 1),
  });
  health.onChange(() => changes.push(health.health));
  t.after(() => health.close());
  return { health, probes: () => probes, changes, downs: () => downs };
}

test('each change is told once', (t) => {
  const { health, changes, downs } = start(t);
  assert.equal(health.health, 'unknown');
  health.noteUp();
  health.noteUp();
  health.noteDown('gone');
  health.noteDown('still gone');
  health.noteUp();
  assert.deepEqual(changes, ['up', 'down', 'up']);
  assert.equal(downs(), 1);
  assert.equal(health.lastFailure?.detail, 'still gone');
  const silent: string[] = [];
  health.onChange(() => silent.push('x'))();
  health.noteDown('x'.repeat(10_000));
  assert.deepEqual(silent, []);
  assert.ok(health.lastFailure.detail.length < 600);
});

test('while it is down it is tried with longer and longer pauses, and no more when it is up or closed', async (t) => {
  const { health, probes } = start(t);
  health.noteDown('gone');
  for (const [delay, count] of [
    [499, 0],
    [1, 1],
    [999, 1],
    [1, 2],
    [2_000, 3],
    [4_000, 4],
    [8_000, 5],
    [10_000, 6],
    [10_000, 7],
  ] as const) {
    t.mock.timers.tick(delay);
    assert.equal(probes(), count);
    await new Promise((resolve) => setImmediate(resolve));
  }
  health.noteUp();
  t.mock.timers.tick(100_000);
  assert.equal(probes(), 7);
  health.noteDown('gone again');
  t.mock.timers.tick(500);
  assert.equal(probes(), 8);
  await new Promise((resolve) => setImmediate(resolve));
  health.close();
  t.mock.timers.tick(100_000);
  assert.equal(probes(), 8);
});
