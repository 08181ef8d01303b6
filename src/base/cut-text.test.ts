import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyText, cutText } from './cut-text.ts';

test('a text is cut to its length, and says so', () => {
  assert.equal(cutText('abc', 3), 'abc');
  assert.equal(cutText('abcd', 3), 'abc...');
  assert.equal(cutText('', 0), '');
  assert.equal(cutText('ä€😀x', 4), 'ä€😀...');
  // Half of a character cannot be shown.
  assert.equal(cutText('ä€😀x', 3), 'ä€\ufffd...');
});

test('a copy is the same text', () => {
  for (const text of ['', 'a', 'ä€😀', 'x'.repeat(10_000)]) assert.equal(copyText(text), text);
});
