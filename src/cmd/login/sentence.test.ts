import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endSentence, joinSaid } from './sentence.ts';

test('a sentence has one end', () => {
  assert.deepEqual(['a', 'a.', 'a. ', 'a?', 'a...'].map(endSentence), ['a.', 'a.', 'a.', 'a?', 'a...']);
});

test('what was said is joined as far as it is there', () => {
  assert.deepEqual([joinSaid('a', 'b'), joinSaid('a', undefined), joinSaid(undefined, '')], ['a: b', 'a', '']);
});
