import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { waitFor } from '../../test/kit/wait-for.ts';
import { TurnBudget } from './turn-budget.ts';

test('so much in one turn; the rest waits in order, and those that come later behind it', async () => {
  const budget = new TurnBudget(3);
  const done: number[] = [];
  let number = 0;
  const ask = (): void => {
    const mine = ++number;
    if (budget.take()) done.push(mine);
    else budget.wait(() => done.push(mine));
  };
  for (let round = 0; round < 5; round++) ask();
  assert.deepEqual(done, [1, 2, 3]);
  await nextTurn();
  assert.deepEqual(done, [1, 2, 3, 4, 5]);
  // The two that waited are part of this turn.
  for (let round = 0; round < 6; round++) ask();
  assert.deepEqual(done, [1, 2, 3, 4, 5, 6]);
  let before = done.length;
  const count = (): boolean => {
    assert.ok(done.length - before <= 3);
    before = done.length;
    return done.length >= 11;
  };
  await waitFor('all are done', count, { intervalMs: 0 });
  assert.deepEqual(done, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

test('a turn without work gives everything back', async () => {
  const budget = new TurnBudget(2);
  for (let round = 0; round < 3; round++) {
    assert.deepEqual([budget.take(), budget.take(), budget.take()], [true, true, false]);
    await nextTurn();
  }
});

test('what asks again from inside of its turn waits for another one', async () => {
  const budget = new TurnBudget(1);
  const turns: number[] = [];
  let turn = 0;
  const again = (): void => {
    turns.push(turn);
    if (turns.length < 5) budget.wait(again);
  };
  budget.wait(again);
  for (; turns.length < 5; turn++) await nextTurn();
  assert.equal(new Set(turns).size, 5);
});
