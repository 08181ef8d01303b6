import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPalette } from './terminal.ts';
import { wrapLine } from './wrap-line.ts';

test('a long line is broken between words and indented; columns that are filled with spaces stay', () => {
  assert.equal(wrapLine('a bc  def', 9, 2), 'a bc  def');
  assert.equal(wrapLine('a bc  def', 8, 2), 'a bc\n  def');
  assert.equal(wrapLine('aa bb cc dd', 5, 2), 'aa bb\n  cc\n  dd');
});

test('a word that is too long stays whole', () => {
  assert.equal(wrapLine('see https://mcp.example/a/b now', 10, 2), 'see\n  https://mcp.example/a/b\n  now');
  assert.equal(wrapLine('abcdefgh ij', 4, 2), 'abcdefgh\n  ij');
});

test('colours take no column', () => {
  const palette = createPalette(true);
  const red = (text: string): string => palette.red(text);
  assert.equal(wrapLine(`${red('abc')} de`, 6, 1), `${red('abc')} de`);
  assert.equal(wrapLine(`${red('abc')} de f`, 6, 1), `${red('abc')} de\n f`);
});
