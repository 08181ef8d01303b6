import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WholeList } from './fetch-list.ts';
import { ListCache } from './list-cache.ts';
import { createSpeaker } from './testing/listing-target.ts';

const list = (owns: readonly string[], text = '{}'): WholeList => ({
  items: owns.map((own) => ({ own, text })),
  ttlMs: 60_000,
  isPublic: false,
});
const ann = createSpeaker('modern', 'ann');
const bob = createSpeaker('modern', 'bob');
const now = (): number => 0;

test('the oldest lists go when there are too many, or too much in them', () => {
  const few = new ListCache(now, { lists: 2, characters: 10_000 });
  for (const target of ['a', 'b', 'c']) few.keep(target, 'tools/list', ann, list(['x']));
  const isKept = (cache: ListCache) => (target: string) => cache.find(target, 'tools/list', ann) !== undefined;
  assert.deepEqual(['a', 'b', 'c'].map(isKept(few)), [false, true, true]);

  const small = new ListCache(now, { lists: 512, characters: 10_000 });
  for (const target of ['a', 'b', 'c']) small.keep(target, 'tools/list', ann, list(['x'], 'x'.repeat(4_000)));
  assert.deepEqual(['a', 'b', 'c'].map(isKept(small)), [false, true, true]);
  small.keep('d', 'tools/list', ann, list(['x'.repeat(10_000)]));
  assert.deepEqual(['a', 'b', 'c', 'd'].map(isKept(small)), [false, true, true, false], 'too long by itself');
});

test('what is replaced, forgotten or too old takes no room', () => {
  const clock = { now: 0 };
  const cache = new ListCache(() => clock.now, { lists: 512, characters: 10_000 });
  const long = list(['x'], 'x'.repeat(6_000));
  for (let i = 0; i < 3; i += 1) cache.keep('a', 'tools/list', ann, long);
  assert.ok(cache.find('a', 'tools/list', ann));
  cache.forget('a');
  cache.keep('b', 'tools/list', ann, list(['x'], 'x'.repeat(3_000)));
  cache.keep('a', 'tools/list', ann, long);
  assert.ok(cache.find('b', 'tools/list', ann));
  clock.now = 60_000;
  assert.equal(cache.find('a', 'tools/list', ann), undefined);
  clock.now = 0;
  cache.keep('c', 'tools/list', ann, long);
  assert.ok(cache.find('b', 'tools/list', ann));
});

test('a list that was on its way while the lists changed is not kept', () => {
  const cache = new ListCache(now);
  const since = cache.epochOf('a');
  cache.forget('a');
  cache.keep('a', 'tools/list', ann, list(['x']), since);
  assert.equal(cache.find('a', 'tools/list', ann), undefined);
  cache.keep('a', 'tools/list', ann, list(['x']), cache.epochOf('a'));
  assert.ok(cache.find('a', 'tools/list', ann));
});

test('entries are what they were, for their owner alone', () => {
  const cache = new ListCache(now);
  const items = ['{"name":"a"}', '{"name":"é\u{1F600}"}', '{}'].map((text, at) => ({ own: `n${at}`, text }));
  cache.keep('a', 'tools/list', ann, { items, ttlMs: 60_000, isPublic: false });
  assert.deepEqual(cache.find('a', 'tools/list', ann)?.items, items);
  assert.equal(cache.find('a', 'tools/list', bob), undefined);
});
