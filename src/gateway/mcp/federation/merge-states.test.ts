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
    [{ backend: 'a', targets: [unknown], contested: [] }],
    [
      { backend: 'a', targets: [up], contested: [] },
      { backend: 'b', targets: [{ ...up, name: 'wiki' }], contested: [] },
    ],
    [{ backend: 'a', targets: [down], contested: [] }],
  ]);
  assert.deepEqual(merged, [
    { backend: 'a', targets: [{ ...up, health: 'down', lastFailure: { atMs: 2, detail: 'newer' } }], contested: [] },
    { backend: 'b', targets: [{ ...up, name: 'wiki' }], contested: [] },
  ]);
});

test('a process that has asked none of the servers yet does not hide what others know', () => {
  const merged = mergeFederationStates([
    [{ backend: 'a', targets: [], contested: [] }],
    [{ backend: 'a', targets: [up], contested: [] }],
  ]);
  assert.deepEqual(merged, [{ backend: 'a', targets: [up], contested: [] }]);
});

test('names that several servers claim in any process are told once', () => {
  const x = { kind: 'tool', name: 'x', targets: ['a', 'b'] } as const;
  const y = { kind: 'tool', name: 'y', targets: ['a', 'b'] } as const;
  const [merged] = mergeFederationStates([
    [{ backend: 'a', targets: [], contested: [x] }],
    [{ backend: 'a', targets: [], contested: [x, y] }],
  ]);
  assert.deepEqual(merged?.contested, [x, y]);
});
