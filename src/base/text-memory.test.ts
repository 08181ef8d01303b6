import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rememberTexts, type TextMemoryOptions } from './text-memory.ts';

/** Counts how often something had to be made. */
function remember(options?: TextMemoryOptions): { readonly ask: (text: string) => string; readonly made: string[] } {
  const made: string[] = [];
  const ask = rememberTexts((text) => {
    made.push(text);
    return `<${text}>`;
  }, options);
  return { ask, made };
}

describe('a memory of texts', () => {
  test('makes something of a text once', () => {
    const { ask, made } = remember();
    assert.deepEqual([ask('a'), ask('b'), ask('a'), ask('')], ['<a>', '<b>', '<a>', '<>']);
    assert.deepEqual(['x', 'x'].map(ask), ['<x>', '<x>']);
    assert.deepEqual(made, ['a', 'b', '', 'x']);
  });

  test('forgets when there are too many', () => {
    const { ask, made } = remember({ maxTexts: 2 });
    for (const text of ['a', 'b', 'c', 'c', 'a']) assert.equal(ask(text), `<${text}>`);
    assert.deepEqual(made, ['a', 'b', 'c', 'a']);
  });

  test('does not keep long texts, nor those it must not keep', () => {
    const { ask, made } = remember({ mayKeep: (text) => text !== 'secret' });
    const long = 'x'.repeat(257);
    for (const text of [long, long, 'secret', 'secret', 'other', 'other']) assert.equal(ask(text), `<${text}>`);
    assert.deepEqual(made, [long, long, 'secret', 'secret', 'other']);
  });

  test('says what it keeps, and keeps little where texts do not come again', () => {
    let made = 0;
    let kept = 0;
    const ask = rememberTexts((text, isKept) => {
      made += 1;
      if (isKept) kept += 1;
      return `<${text}>`;
    });
    for (let index = 0; index < 10_000; index += 1) assert.equal(ask(`once ${index}`), `<once ${index}>`);
    assert.ok(kept < 2_000, `${kept} of 10000 kept`);
    // They come again: before long all of them are known.
    for (let index = 0; index < 100_000; index += 1) ask(`often ${index % 50}`);
    const before = made;
    for (let index = 0; index < 50; index += 1) assert.equal(ask(`often ${index}`), `<often ${index}>`);
    assert.equal(made, before);
  });

  test('takes no text for another one', () => {
    const { ask } = remember();
    // Both are the same once they are UTF-8.
    assert.equal(ask('\ud800'), '<\ud800>');
    assert.equal(ask('\ufffd'), '<\ufffd>');
    assert.equal(ask('\ud800'), '<\ud800>');
  });
});
