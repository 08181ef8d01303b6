// Watchers of the list hear of changes at once, but not of every one of many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { CoalescedList } from './coalesced-list.ts';

function open() {
  const clock = createManualClock();
  let items: readonly object[] = [];
  const coalesced = new CoalescedList(() => items, clock);
  const told: (readonly object[])[] = [];
  coalesced.list.subscribe((list) => told.push(list));
  const set = (next: readonly object[]): void => {
    items = next;
    coalesced.touch();
  };
  return { clock, coalesced, told, set };
}

test('a first change is told at once, those that follow closely together', async () => {
  const { clock, told, set, coalesced } = open();
  const [a, b, c] = [{}, {}, {}];
  set([a]);
  await clock.advance(0);
  assert.deepEqual(told, [[a]]);
  set([a, b]);
  await clock.advance(20);
  set([a, b, c]);
  await clock.advance(29);
  assert.equal(told.length, 1);
  await clock.advance(1);
  assert.equal(told.length, 2);
  assert.equal(coalesced.list.get()[2], c);
});

test('a list of the same objects is no change, and nobody is told after the end', async () => {
  const { clock, told, set, coalesced } = open();
  const a = {};
  set([a]);
  await clock.advance(0);
  set([a]);
  await clock.advance(100);
  assert.equal(told.length, 1);
  set([]);
  coalesced.close();
  set([a, {}]);
  await clock.advance(100);
  assert.equal(told.length, 1);
});
