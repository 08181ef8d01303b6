import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeFederationStates } from './merge-states.ts';
import type { FederationState } from './federation-state.ts';
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

/** A tool that these servers claim. */
const x = (...targets: readonly string[]): FederationState['contested'][number] => ({
  kind: 'tool',
  name: 'x',
  targets,
});

test('what any process knows is known, and one that cannot reach a server is enough for it to be down', () => {
  const down: TargetState = { ...unknown, health: 'down', lastFailure: { atMs: 2, detail: 'newer' } };
  const merged = mergeFederationStates([
    [{ backend: 'a', targets: [unknown], contested: [x('one', 'two')] }],
    [
      { backend: 'a', targets: [up], contested: [x('one', 'three')] },
      { backend: 'b', targets: [{ ...up, name: 'wiki' }], contested: [] },
    ],
    [{ backend: 'a', targets: [down], contested: [] }],
  ]);
  assert.deepEqual(merged, [
    {
      backend: 'a',
      targets: [{ ...up, health: 'down', lastFailure: { atMs: 2, detail: 'newer' } }],
      contested: [x('one', 'three', 'two')],
    },
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
