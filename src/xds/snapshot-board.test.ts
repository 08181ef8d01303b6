// Bursts of changes become one push, and a push is never held back for long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import type { Snapshot } from './snapshot.ts';
import { SnapshotBoard } from './snapshot-board.ts';
import { makeSnapshot } from './testing/small-snapshots.ts';

const gateway = 'default/web';

function openBoard() {
  const clock = createManualClock();
  const board = new SnapshotBoard(clock);
  const told: Snapshot[] = [];
  const unsubscribe = board.subscribe(gateway, (snapshot) => told.push(snapshot));
  return { clock, board, told, unsubscribe };
}

test('what comes within a moment is told once, and it is the newest', async () => {
  const { clock, board, told } = openBoard();
  const snapshots = ['1', '2', '3'].map((s) => makeSnapshot({ secrets: { s } }));
  for (const snapshot of snapshots) {
    board.set(gateway, snapshot);
    assert.equal(board.get(gateway), snapshot);
    await clock.advance(9);
  }
  assert.deepEqual(told, []);
  await clock.advance(1);
  assert.deepEqual(told, [snapshots[2]]);
  board.set(gateway, snapshots[0]);
  await clock.advance(10);
  assert.deepEqual(told, [snapshots[2], snapshots[0]]);
});

test('changes without a pause are told every second', async () => {
  const { clock, board, told } = openBoard();
  for (let index = 0; index < 600; index += 1) {
    board.set(gateway, makeSnapshot({ secrets: { s: `${index}` } }));
    await clock.advance(5);
  }
  assert.ok(told.length === 2 || told.length === 3, `told ${told.length} times in 3 s`);
});

test('Gateways do not hold each other back, and do not hear of each other', async () => {
  const { clock, board, told } = openBoard();
  const others: Snapshot[] = [];
  board.subscribe('default/other', (snapshot) => others.push(snapshot));
  const snapshot = makeSnapshot({});
  board.set(gateway, snapshot);
  await clock.advance(9);
  board.set('default/other', makeSnapshot({ secrets: { s: '1' } }));
  await clock.advance(1);
  assert.deepEqual([told, others], [[snapshot], []]);
});

test('a snapshot that is not known any more is told to nobody, and neither is the one before it', async () => {
  const { clock, board, told } = openBoard();
  board.set(gateway, makeSnapshot({}));
  board.set(gateway, undefined);
  await clock.advance(2_000);
  assert.deepEqual(told, []);
  assert.equal(board.get(gateway), undefined);
});

test('the same snapshot again is no change, and nobody is told after it left', async () => {
  const { clock, board, told, unsubscribe } = openBoard();
  const snapshot = makeSnapshot({});
  board.set(gateway, snapshot);
  await clock.advance(10);
  board.set(gateway, snapshot);
  assert.deepEqual(clock.pendingDelays(), []);
  unsubscribe();
  board.set(gateway, makeSnapshot({ secrets: { s: '1' } }));
  await clock.advance(2_000);
  assert.deepEqual(told, [snapshot]);
});
