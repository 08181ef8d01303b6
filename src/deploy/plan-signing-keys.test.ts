// The rotation of signing keys, step by step, and with leaders that end between any two steps.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../test/kit/effort.ts';
import { keepSigningKeyMs } from '../base/signing-key.ts';
import {
  type AcknowledgedKeys,
  type KeptSigningKeys,
  makeFirstKeys,
  planSigningKeys,
  rotateAfterMs,
  type SigningKeyFacts,
  takeStep,
} from './plan-signing-keys.ts';

const start = Date.UTC(2026, 0, 1);
const day = 86_400_000;
const longestLifetime = day;

/** What gateways have that acknowledged these keys. */
function listSent({ current, next, previous }: KeptSigningKeys): AcknowledgedKeys {
  return { kids: [current, next, previous].flatMap((key) => key?.kid ?? []), active: current.kid };
}

const plan = (keys: KeptSigningKeys, facts: Partial<SigningKeyFacts> = {}) =>
  planSigningKeys(keys, { now: start, isRequested: false, acknowledged: listSent(keys), ...facts });

describe('the plan', () => {
  const first = makeFirstKeys(start);

  test('waits until the key is 90 days old, or somebody asks', () => {
    const rotateAt = start + rotateAfterMs;
    assert.deepEqual(plan(first), { step: 'wait', until: rotateAt });
    assert.deepEqual(plan(first, { now: rotateAt - 1 }), { step: 'wait', until: rotateAt });
    assert.deepEqual(plan(first, { now: rotateAt }), { step: 'prepare' });
    assert.deepEqual(plan(first, { isRequested: true }), { step: 'prepare' });
  });

  const prepared = takeStep(first, 'prepare', start);

  test('a new key changes nothing about who signs', () => {
    assert.deepEqual([prepared.current, prepared.currentSince], [first.current, start]);
    assert.notEqual(prepared.next?.kid, first.current.kid);
  });

  test('signs with the next key only when every gateway has it', () => {
    const wait = { step: 'wait', until: undefined };
    assert.deepEqual(plan(prepared, { acknowledged: undefined }), wait);
    assert.deepEqual(plan(prepared, { acknowledged: listSent(first) }), wait, 'an answer to the keys before');
    assert.deepEqual(plan(prepared, { acknowledged: undefined, isRequested: true }), wait, 'however much is asked');
    assert.deepEqual(
      plan(prepared, { acknowledged: undefined, now: start + 100 * day }),
      wait,
      'however long it takes',
    );
    assert.deepEqual(plan(prepared), { step: 'switch' });
  });

  const switched = takeStep(prepared, 'switch', start + day);

  test('the key until now stays published', () => {
    assert.deepEqual([switched.current, switched.previous], [prepared.next, first.current]);
    assert.deepEqual([switched.next, switched.currentSince], [undefined, start + day]);
  });

  test('its last tokens are counted from when no gateway signs with it any more', () => {
    const late = { now: start + 5 * day };
    assert.deepEqual(plan(switched, { ...late, acknowledged: listSent(prepared) }), { step: 'wait', until: undefined });
    assert.deepEqual(plan(switched, { ...late, acknowledged: undefined }), { step: 'wait', until: undefined });
    assert.deepEqual(plan(switched, late), { step: 'retire' });
    const retired = takeStep(switched, 'retire', late.now);
    const until = late.now + keepSigningKeyMs;
    assert.ok(keepSigningKeyMs > longestLifetime);
    assert.deepEqual(plan(retired, late), { step: 'wait', until });
    assert.deepEqual(
      plan(retired, { now: until - 1, isRequested: true }),
      { step: 'wait', until },
      'one after the other',
    );
    assert.deepEqual(plan(retired, { now: until, acknowledged: undefined }), { step: 'forget' });
    const done = takeStep(retired, 'forget', until);
    assert.deepEqual([done.previous, done.previousUntil, done.current], [undefined, undefined, switched.current]);
    assert.deepEqual(plan(done, { now: until, isRequested: true }), { step: 'prepare' });
  });

  test('times that people have removed are written anew', () => {
    const undated = { ...first, currentSince: undefined };
    assert.deepEqual(plan(undated), { step: 'date' });
    assert.deepEqual(takeStep(undated, 'date', start), first);
    assert.deepEqual(plan({ ...switched, previousUntil: undefined }), { step: 'retire' });
  });
});

test('whoever leads and whoever is late: no token of an unknown key, and none is refused before it expires', () => {
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ what: 'lead' as const }) },
    // A leader whose knowledge is lost, or whose write fails.
    { weight: 1, arbitrary: fc.constant({ what: 'forget' as const }) },
    { weight: 2, arbitrary: fc.constant({ what: 'ask' as const }) },
    { weight: 3, arbitrary: fc.constant({ what: 'deliver to all' as const }) },
    { weight: 4, arbitrary: fc.record({ what: fc.constant('deliver' as const), gateway: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant('pass' as const), ms: fc.nat(60 * 3_600_000) }) },
  );
  fc.assert(
    fc.property(fc.array(event, { minLength: 20, maxLength: 60, size: 'max' }), (events) => {
      let now = start;
      let keys = makeFirstKeys(now);
      let isRequested = false;
      let isKnown = true;
      const gateways = Array.from({ length: 3 }, () => listSent(keys));
      /** Until when tokens of a key may be good. */
      const goodUntil = new Map<string, number>();
      for (const step of events) {
        for (const { active } of gateways) goodUntil.set(active, now + longestLifetime);
        if (step.what === 'pass') {
          now += step.ms;
          for (const { active } of gateways) goodUntil.set(active, now + longestLifetime);
        } else if (step.what === 'ask') isRequested = true;
        else if (step.what === 'forget') isKnown = false;
        else if (step.what === 'deliver' || step.what === 'deliver to all') {
          if (step.what === 'deliver') gateways[step.gateway] = listSent(keys);
          else gateways.fill(listSent(keys));
          isKnown = true;
        } else {
          const sent = JSON.stringify(listSent(keys));
          const isSettled = isKnown && gateways.every((each) => JSON.stringify(each) === sent);
          const acknowledged = isSettled ? listSent(keys) : undefined;
          const next = planSigningKeys(keys, { now, isRequested, acknowledged });
          if (next.step === 'prepare' || next.step === 'switch') isRequested = false;
          if (next.step !== 'wait') keys = takeStep(keys, next.step, now);
        }
        // Each accepts what each other signs now, and what anyone signed before.
        for (const one of gateways) for (const other of gateways) assert.ok(one.kids.includes(other.active));
        for (const [kid, until] of goodUntil)
          if (until >= now) for (const { kids } of gateways) assert.ok(kids.includes(kid), 'a good token is refused');
      }
    }),
    { numRuns: effort(5_000, 300) },
  );
});
