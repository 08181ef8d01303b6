// Which signing key signs when, and until when the others are published.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSigningKey, keepSigningKeyMs } from '../base/signing-key.ts';
import {
  announceMs,
  type DatedSigningKey,
  makeSigningKeys,
  rotateSigningKeys,
  scheduleSigningKeys,
} from './signing-keys.ts';

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const longestLifetime = 24 * hour;
const [{ privateKey }] = [createSigningKey()];
const key = (kid: string, signsFrom: number): DatedSigningKey => ({ kid, privateKey, createdAt: signsFrom, signsFrom });
const look = (keys: readonly DatedSigningKey[], now: number) => {
  const { published, active, changesAt } = scheduleSigningKeys(keys, now);
  return { published: published.map(({ kid }) => kid).join(' '), active, changesAt };
};

describe('the schedule of signing keys', () => {
  test('one key signs for ever', () => {
    const keys = makeSigningKeys(start);
    const { kid } = keys[0]!;
    for (const now of [start - hour, start, start + 1000 * hour])
      assert.deepEqual(look(keys, now), { published: kid, active: kid, changesAt: undefined });
  });

  test('a new key is published before it signs, and the one before it until its tokens have expired', () => {
    const next = start + announceMs;
    const keys = [key('b', next), key('a', start - 100 * hour)];
    assert.deepEqual(look(keys, start), { published: 'a b', active: 'a', changesAt: next });
    assert.deepEqual(look(keys, next - 1), { published: 'a b', active: 'a', changesAt: next });
    const end = next + keepSigningKeyMs;
    assert.deepEqual(look(keys, next), { published: 'a b', active: 'b', changesAt: end });
    assert.deepEqual(look(keys, next + longestLifetime), { published: 'a b', active: 'b', changesAt: end });
    assert.deepEqual(look(keys, end), { published: 'b', active: 'b', changesAt: undefined });
  });

  test('several rotations within a day: each key is published as long as its tokens live', () => {
    const keys = [key('a', start), key('b', start + hour), key('c', start + 2 * hour), key('d', start + 30 * hour)];
    assert.deepEqual(look(keys, start + 3 * hour), {
      published: 'a b c d',
      active: 'c',
      changesAt: start + hour + keepSigningKeyMs,
    });
    assert.equal(look(keys, start + hour + keepSigningKeyMs).published, 'b c d');
    assert.deepEqual(look(keys, start + 31 * hour), {
      published: 'c d',
      active: 'd',
      changesAt: start + 30 * hour + keepSigningKeyMs,
    });
  });

  test('a clock that is behind the one that dated the keys: the first one signs', () => {
    const keys = [key('a', start), key('b', start + hour)];
    assert.deepEqual(look(keys, start - 1), { published: 'a b', active: 'a', changesAt: start + hour });
  });

  test('whatever happens: who reads late never sees a token of a key that it does not know, and no token dies early', () => {
    const step = fc.record({ after: fc.integer({ min: 0, max: 40 * hour }), isRotation: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let now = start;
        let keys = makeSigningKeys(now);
        /** When each key may have signed last. */
        const signed = new Map<string, number>();
        for (const { after, isRotation } of steps) {
          // Until now, by the clock, whoever read the keys at any time signed with what was active then.
          for (const at of [now, now + after]) signed.set(scheduleSigningKeys(keys, at).active, at);
          now += after;
          const before = keys;
          if (isRotation) {
            keys = rotateSigningKeys(keys, now, { dropPrevious: false });
            // Somebody with the file of before is not overtaken within the time that it has.
            const late = new Set(scheduleSigningKeys(before, now).published.map(({ kid }) => kid));
            for (const at of [now, now + announceMs - 1]) assert.ok(late.has(scheduleSigningKeys(keys, at).active));
          }
          const published = new Set(scheduleSigningKeys(keys, now).published.map(({ kid }) => kid));
          assert.ok(published.has(scheduleSigningKeys(keys, now).active));
          for (const [kid, at] of signed) assert.ok(published.has(kid) || at + longestLifetime < now, kid);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('rotating signing keys', () => {
  test('adds a key that signs later, and forgets those that nobody needs', () => {
    const made = makeSigningKeys(start);
    const once = rotateSigningKeys(made, start + hour, { dropPrevious: false });
    assert.equal(once.length, 2);
    assert.deepEqual([once[0], once[1]!.signsFrom], [made[0], start + hour + announceMs]);
    const twice = rotateSigningKeys(once, start + 100 * hour, { dropPrevious: false });
    assert.deepEqual(
      twice.map(({ kid }) => kid),
      [once[1]!.kid, twice[1]!.kid],
    );
    const again = rotateSigningKeys(twice, start + 100 * hour + 1, { dropPrevious: false });
    assert.equal(again.length, 3, 'one that waits does not take its place from another');
  });

  test('of a leaked one: a new key, at once, and no other', () => {
    const made = rotateSigningKeys(makeSigningKeys(start), start, { dropPrevious: false });
    const fresh = rotateSigningKeys(made, start + 1, { dropPrevious: true });
    assert.deepEqual([fresh.length, fresh[0]!.signsFrom], [1, start + 1]);
    assert.ok(!made.some(({ kid }) => kid === fresh[0]!.kid));
  });
});
