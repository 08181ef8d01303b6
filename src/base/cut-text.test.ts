import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyText, cutMiddle, cutText } from './cut-text.ts';

test('a text is cut to its length, and says so', () => {
  assert.equal(cutText('abc', 3), 'abc');
  assert.equal(cutText('abcd', 3), 'abc...');
  assert.equal(cutText('', 0), '');
  assert.equal(cutText('ä€😀x', 4), 'ä€😀...');
  // Half of a character cannot be shown.
  assert.equal(cutText('ä€😀x', 3), 'ä€\ufffd...');
});

test('a text for people is cut in the middle', () => {
  assert.equal(cutMiddle('abcdef', 6), 'abcdef');
  assert.equal(cutMiddle('abcdefg', 6), 'abc…fg');
  assert.equal(cutMiddle('abcdefg', 5), 'ab…fg');
  assert.equal(cutMiddle('abc', 1), '…');
});

test('a copy is the same text', () => {
  for (const text of ['', 'a', 'ä€😀', 'x'.repeat(10_000)]) assert.equal(copyText(text), text);
});
