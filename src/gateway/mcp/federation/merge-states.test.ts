import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeFederationStates } from './merge-states.ts';
import type { TargetState } from './target.ts';

const unknown: TargetState = {
  name: 'tickets',
  health: 'unknown',
  version: undefined,
  serverInfo: undefined,
  capabilities: undefined,
  instructions: undefined,
  lastFailure: undefined,
  tools: undefined,
};

const up: TargetState = {
  ...unknown,
  health: 'up',
  version: '2025-11-25',
  serverInfo: { name: 'desk', version: '1.2.0' },
  tools: 7,
  lastFailure: { atMs: 1, detail: 'older' },
};

test('what any process knows is known, and one that cannot reach a server is enough for it to be down', () => {
  const down: TargetState = { ...unknown, health: 'down', lastFailure: { atMs: 2, detail: 'newer' } };
  const merged = mergeFederationStates([
    [{ backend: 'a', targets: [unknown] }],
    [
      { backend: 'a', targets: [up] },
      { backend: 'b', targets: [{ ...up, name: 'wiki' }] },
    ],
    [{ backend: 'a', targets: [down] }],
  ]);
  assert.deepEqual(merged, [
    { backend: 'a', targets: [{ ...up, health: 'down', lastFailure: { atMs: 2, detail: 'newer' } }] },
    { backend: 'b', targets: [{ ...up, name: 'wiki' }] },
  ]);
});

test('a process that has asked none of the servers yet does not hide what others know', () => {
  const merged = mergeFederationStates([[{ backend: 'a', targets: [] }], [{ backend: 'a', targets: [up] }]]);
  assert.deepEqual(merged, [{ backend: 'a', targets: [up] }]);
});
