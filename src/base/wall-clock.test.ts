import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readWallClock } from './wall-clock.ts';

describe('the wall clock', () => {
  test('asks the system now and then, and counts on in between', (t) => {
    let asked = 0;
    t.mock.method(Date, 'now', () => 1_000_000 + 5_000 * (asked += 1));
    const start = performance.now() + 1_000;
    assert.equal(readWallClock(start), 1_005_000);
    assert.equal(readWallClock(start + 0.9), 1_005_000);
    assert.equal(readWallClock(start + 1.1), 1_005_001);
    assert.equal(readWallClock(start + 49.5), 1_005_049);
    assert.equal(asked, 1);
    // The system's clock was set in the meantime.
    assert.equal(readWallClock(start + 50), 1_010_000);
    assert.equal(readWallClock(start + 60), 1_010_010);
    assert.equal(asked, 2);
  });

  test('does not count backwards from a later moment', (t) => {
    t.mock.method(Date, 'now', () => 7_000_000);
    const late = performance.now() + 100_000;
    readWallClock(late);
    assert.equal(readWallClock(late - 5_000), 7_000_000);
  });
});
