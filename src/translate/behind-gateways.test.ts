// Sentences about gateways that are behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeBehind } from './behind-gateways.ts';

const lost = (...names: readonly string[]) => names.map((name) => ({ name, isConnected: false }));
const slow = (...names: readonly string[]) => names.map((name) => ({ name, isConnected: true }));

test('how many have it, and which pods do not', () => {
  assert.equal(
    describeBehind(lost('a'), 1),
    '0 of 1 gateways has this. Pod a takes traffic without a connection to the controller: it enforces what it last received.',
  );
  assert.equal(
    describeBehind(lost('a', 'b', 'c', 'd', 'e'), 9),
    '4 of 9 gateways have this. Pods a, b, c and 2 more take traffic without a connection to the controller: they enforce what they last received.',
  );
  assert.equal(
    describeBehind([...slow('a', 'c'), ...lost('b')], 4),
    '1 of 4 gateways has this. Pod b takes traffic without a connection to the controller: it enforces what it last received. Pods a, c are connected, but did not answer yet.',
  );
});
