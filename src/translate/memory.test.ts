// What is computed again, what is not, and what is forgotten.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keepList, keepMessages, keepShallow, Memory, replaceLists } from './memory.ts';

/** A memory with a table of texts, their lengths, and a total that reads some of them. */
function createLengths() {
  const memory = new Memory();
  const words = memory.createTable<string>();
  const runs: string[] = [];
  const lengths = memory.derive((key) => {
    runs.push(key);
    return words.get(key)?.length ?? 0;
  });
  const pair = memory.derive((key) => {
    runs.push(`pair ${key}`);
    const [left = '', right = ''] = key.split('+');
    return { sum: lengths.get(left) + lengths.get(right) };
  });
  const round = <T>(entries: Readonly<Record<string, string>>, ask: () => T): T => {
    memory.begin();
    words.replace(new Map(Object.entries(entries)));
    runs.length = 0;
    const outcome = ask();
    memory.end();
    return outcome;
  };
  return { memory, words, lengths, pair, runs, round };
}

describe('a derived value', () => {
  test('is computed once, and again when something that it looked up is another', () => {
    const { pair, runs, round } = createLengths();
    const first = round({ a: 'x', b: 'yy' }, () => pair.get('a+b'));
    assert.deepEqual([first.sum, ...runs], [3, 'pair a+b', 'a', 'b']);
    assert.equal(
      round({ a: 'x', b: 'yy', c: 'z' }, () => pair.get('a+b')),
      first,
    );
    assert.deepEqual(runs, []);
    assert.equal(round({ a: 'x', b: 'yyy' }, () => pair.get('a+b')).sum, 4);
    assert.deepEqual(runs, ['b', 'pair a+b']);
  });

  test('stays when what it looked up was computed again with the same outcome', () => {
    const { pair, runs, round } = createLengths();
    const first = round({ a: 'x', b: 'yy' }, () => pair.get('a+b'));
    assert.equal(
      round({ a: 'q', b: 'yy' }, () => pair.get('a+b')),
      first,
    );
    assert.deepEqual(runs, ['a']);
  });

  test('is the previous one when it is equal to it', () => {
    const { pair, round } = createLengths();
    const first = round({ a: 'x', b: 'yy' }, () => pair.get('a+b'));
    assert.equal(
      round({ a: 'xx', b: 'y' }, () => pair.get('a+b')),
      first,
    );
  });

  test('notices what appears and what goes', () => {
    const { pair, round } = createLengths();
    assert.equal(round({ a: 'x' }, () => pair.get('a+b')).sum, 1);
    assert.equal(round({ a: 'x', b: 'yy' }, () => pair.get('a+b')).sum, 3);
    assert.equal(round({ b: 'yy' }, () => pair.get('a+b')).sum, 2);
  });

  test('that reads all of a table depends on all of it', () => {
    const { memory, words, round } = createLengths();
    const all = memory.derive(() => [...words.entries().keys()].join());
    assert.equal(
      round({ a: 'x' }, () => all.get('')),
      'a',
    );
    assert.equal(
      round({ a: 'x', b: 'y' }, () => all.get('')),
      'a,b',
    );
  });

  test('that nobody asks for any more is forgotten, with what only it looked up', () => {
    const { words, lengths, round } = createLengths();
    const names = Array.from({ length: 2000 }, (_, at) => `n${at}`);
    const entries = Object.fromEntries(names.map((name) => [name, 'x']));
    round(entries, () => names.map((name) => lengths.get(name)));
    assert.deepEqual([lengths.size, words.size], [2000, 2000]);
    round({ n0: 'x' }, () => lengths.get('n0'));
    assert.deepEqual([lengths.size, words.size], [1, 1]);
    assert.equal(
      round({ n0: 'x', n1: 'yy' }, () => lengths.get('n1')),
      2,
    );
  });
});

describe('keeping', () => {
  test('lists in a table that have the members that they had', () => {
    const table = new Memory().createTable<readonly object[]>();
    const [a, b] = [{}, {}];
    replaceLists(table, new Map([['x', [a, b]]]));
    const first = table.get('x');
    replaceLists(
      table,
      new Map([
        ['x', [a, b]],
        ['y', [a]],
      ]),
    );
    assert.equal(table.get('x'), first);
    replaceLists(table, new Map([['x', [b, a]]]));
    assert.notEqual(table.get('x'), first);
    assert.equal(table.has('y'), false);
  });

  test('lists, messages and objects', () => {
    const make = (...keys: string[]) => keys.map((key) => ({ key, value: [key] }));
    const [a, b, c] = make('a', 'b', 'c') as [{ key: string; value: string[] }, ...{ key: string; value: string[] }[]];
    const list = [a, b!, c!];
    assert.equal(keepList(list, [...list]), list);
    assert.notEqual(keepList(list, [a, b!]), list);
    assert.equal(keepMessages(list, make('a', 'b', 'c')), list);
    const kept = keepMessages(list, [...make('0', 'a', 'b'), { key: 'c', value: ['d'] }, ...make('e')]);
    assert.deepEqual(
      kept.map((message) => list.indexOf(message)),
      [-1, 0, 1, -1, -1],
    );
    assert.deepEqual(
      keepMessages(list, make('c', 'a')).map((message) => list.indexOf(message)),
      [2, 0],
    );
    assert.deepEqual(keepMessages<{ key: string }>([], []), []);
    const object = { a, list };
    assert.equal(keepShallow(object, { a, list }), object);
    assert.notEqual(keepShallow<object>(object, { a, list, b }), object);
  });
});
