import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { type Sending, sendingSoon, sendingTogether } from './sending.ts';

function addAll(sending: Sending, count: number, sent: number[]): void {
  for (let each = 0; each < count; each++) sending.add({ send: () => void sent.push(each), noteSent: () => {} });
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, each) => each);

test('soon: before anything else happens', async () => {
  const sent: number[] = [];
  addAll(sendingSoon, 3, sent);
  assert.deepEqual(sent, []);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(sent, numbers(3));
});

test('together: at the end of the turn, in the order in which they came', async () => {
  const sent: number[] = [];
  addAll(sendingTogether, 3, sent);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(sent, []);
  await nextTurn();
  assert.deepEqual(sent, numbers(3));
});

test('together: not later than many others', async () => {
  const sent: number[] = [];
  addAll(sendingTogether, 100, sent);
  assert.deepEqual(sent, []);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(sent, numbers(100));
  addAll(sendingTogether, 1, sent);
  await nextTurn();
  assert.deepEqual(sent, [...numbers(100), 0]);
});

test('together: one that is added while others are told comes in the next turn', async () => {
  const sent: string[] = [];
  sendingTogether.add({
    send() {
      sent.push('first');
      sendingTogether.add({ send: () => void sent.push('second'), noteSent: () => {} });
    },
    noteSent: () => void sent.push('first is told'),
  });
  await nextTurn();
  assert.deepEqual(sent, ['first', 'first is told']);
  await nextTurn();
  assert.deepEqual(sent, ['first', 'first is told', 'second']);
});

test('together: all have sent before the first is told', async () => {
  const seen: string[] = [];
  for (const name of ['a', 'b'])
    sendingTogether.add({
      send: () => void seen.push(`${name} sends`),
      noteSent: () => void seen.push(`${name} is told`),
    });
  await nextTurn();
  assert.deepEqual(seen, ['a sends', 'b sends', 'a is told', 'b is told']);
});
