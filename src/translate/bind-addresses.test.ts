// Which addresses meet on a port.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collide, shareAddress } from './bind-addresses.ts';

test('the same address is shared, and every interface with every interface', () => {
  assert.ok(shareAddress(['127.0.0.1', '::1'], ['::1']));
  assert.ok(shareAddress([], []));
  assert.ok(!shareAddress(['127.0.0.1'], ['127.0.0.2']));
  assert.ok(!shareAddress([], ['127.0.0.1']));
});

test('a wide address and one within it collide, whichever comes first', () => {
  for (const [left, right] of [
    [[], ['127.0.0.1']],
    [[], ['0.0.0.0']],
    [[], ['::']],
    [['0.0.0.0'], ['127.0.0.1']],
    [['::'], ['127.0.0.1']],
    [['::'], ['::1']],
    [['::'], ['0.0.0.0']],
    [['127.0.0.1', '::'], ['10.0.0.1']],
  ] as const) {
    assert.ok(collide(left, right), JSON.stringify([left, right]));
    assert.ok(collide(right, left), JSON.stringify([right, left]));
  }
});

test('what is disjoint or equal does not collide', () => {
  assert.ok(!collide([], []));
  assert.ok(!collide(['0.0.0.0'], ['::1']));
  assert.ok(!collide(['0.0.0.0'], ['0.0.0.0']));
  assert.ok(!collide(['127.0.0.1'], ['127.0.0.2']));
});
