import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlacedList } from './placed-list.ts';

const createItems = (count: number): { id: number; place: number }[] =>
  Array.from({ length: count }, (_, id) => ({ id, place: -1 }));

test('holds what was added and not taken out, in whatever order that happens', () => {
  const list = new PlacedList<{ id: number; place: number }>();
  const items = createItems(50);
  const expected = new Set<(typeof items)[number]>();
  let random = 1;
  for (let step = 0; step < 5_000; step++) {
    random = (random * 48_271) % 2_147_483_647;
    const item = items[random % items.length]!;
    if (random % 3 === 0) {
      assert.equal(list.delete(item), expected.delete(item));
    } else {
      list.add(item);
      expected.add(item);
    }
    assert.equal(list.size, expected.size);
  }
  assert.deepEqual(new Set(list.toArray()), expected);
});

test('adding twice is adding once; what is in another list is not taken out', () => {
  const [first, second] = createItems(2);
  const one = new PlacedList<{ id: number; place: number }>();
  const other = new PlacedList<{ id: number; place: number }>();
  one.add(first!);
  one.add(first!);
  other.add(second!);
  assert.equal(one.size, 1);
  assert.equal(one.delete(second!), false);
  assert.equal(other.delete(second!), true);
  assert.equal(one.delete(first!), true);
  assert.equal(one.delete(first!), false);
});

test('what is taken out while the list is walked through does no harm', () => {
  const list = new PlacedList<{ id: number; place: number }>();
  for (const item of createItems(5)) list.add(item);
  const seen: number[] = [];
  for (const item of list.toArray()) {
    seen.push(item.id);
    list.delete(item);
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4]);
  assert.equal(list.size, 0);
});
