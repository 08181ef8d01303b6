import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../../api/kinds.ts';
import { type Change, ChangeOrder } from './change-order.ts';

function make(kind: Kind, key: string): Change {
  return { kind, key, outcome: undefined };
}

function name(changes: readonly Change[]): readonly string[] {
  return changes.map(({ kind, key }) => `${kind} ${key}`);
}

test('what was made before is taken along, however late it came; what was made after waits', () => {
  const order = new ChangeOrder();
  order.add(make('HTTPRoute', 'a'), '12');
  const mark = order.arrivals;
  order.add(make('ProxyPolicy', 'a'), '11');
  order.add(make('HTTPRoute', 'b'), '14');
  order.add(make('ProxyPolicy', 'b'), '9');
  assert.deepEqual(name(order.take(mark)), ['HTTPRoute a', 'ProxyPolicy a', 'ProxyPolicy b']);
  assert.equal(order.size, 1);
  assert.deepEqual(order.listWaiting(), new Map([['HTTPRoute', new Set(['b'])]]));
  assert.deepEqual(name(order.take(order.arrivals)), ['HTTPRoute b']);
});

test('versions are numbers', () => {
  const order = new ChangeOrder();
  order.add(make('HTTPRoute', 'a'), '9');
  const mark = order.arrivals;
  order.add(make('HTTPRoute', 'b'), '10');
  assert.deepEqual(name(order.take(mark)), ['HTTPRoute a']);
});

test('what was made before something that is taken already does not wait', () => {
  const order = new ChangeOrder();
  order.add(make('HTTPRoute', 'a'), '12');
  order.take(Infinity);
  const mark = order.arrivals;
  order.add(make('ProxyPolicy', 'a'), '11');
  order.add(make('HTTPRoute', 'b'), '13');
  assert.deepEqual(name(order.take(mark)), ['ProxyPolicy a']);
});

test('nothing that came is taken before its time, but for what has no version', () => {
  const order = new ChangeOrder();
  order.add(make('HTTPRoute', 'a'), '12');
  assert.deepEqual(name(order.take(0)), []);
  order.add(make('Secret', 's'), undefined);
  order.add(make('Secret', 't'), 'abc');
  assert.deepEqual(name(order.take(order.arrivals)), ['HTTPRoute a', 'Secret s', 'Secret t']);
});

test('changes of one object are taken in the order in which they came', () => {
  const order = new ChangeOrder();
  order.add(make('Secret', 's'), '5');
  order.add(make('Secret', 's'), '6');
  order.add(make('Secret', 't'), '5');
  assert.deepEqual(name(order.take(1)), ['Secret s', 'Secret t']);
  assert.deepEqual(name(order.take(order.arrivals)), ['Secret s']);
});

test('what comes from elsewhere does not wait any more', () => {
  const order = new ChangeOrder();
  order.add(make('Secret', 's'), '5');
  order.add(make('Secret', 's'), '6');
  order.add(make('ConfigMap', 's'), '7');
  order.drop('Secret', 's');
  assert.deepEqual(name(order.take(order.arrivals)), ['ConfigMap s']);
});

test('other things that happen have their place', () => {
  const order = new ChangeOrder();
  order.add(make('Secret', 's'), '5');
  const mark = order.arrivals;
  assert.ok(order.pass() > mark);
});
