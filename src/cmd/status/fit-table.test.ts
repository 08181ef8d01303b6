// Tables for any width: no line is too long as long as columns can still leave, and what stays stays whole.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createPalette } from '../../base/terminal.ts';
import { type Column, fitTable, wrapText } from './fit-table.ts';

const plain = createPalette(false);
const columns: readonly Column[] = [
  { title: ' ' },
  { title: 'NAME', least: 8 },
  { title: 'HOSTNAMES', least: 6, leaves: 2 },
  { title: 'PARENT', least: 6, leaves: 1 },
  { title: 'ACCEPTED' },
];
const cellText = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), maxLength: 60 });
const rowsOf = fc.array(
  fc.tuple(fc.constantFrom('✓', '✗', '?'), cellText, cellText, cellText, fc.constantFrom('True', 'False', 'stale')),
  { minLength: 1, maxLength: 6 },
);

describe('a table that fits', () => {
  test('no line is longer than the terminal, if there is room for what must stay', () => {
    fc.assert(
      fc.property(rowsOf, fc.integer({ min: 1 + 2 + 8 + 2 + 8, max: 200 }), (rows, width) => {
        const lines = fitTable(
          columns,
          rows.map((row) => row.map((text) => ({ text }))),
          width,
          plain,
        );
        assert.equal(lines.length, rows.length + 1);
        for (const [index, line] of lines.entries()) {
          assert.ok(line.length <= width, `${line.length} > ${width}: ${line}`);
          const row = rows[index - 1];
          if (row === undefined) continue;
          assert.ok(line.startsWith(row[0]), 'the mark');
          assert.ok(line.endsWith(row[4]), 'the condition');
        }
      }),
    );
  });

  test('without a width nothing is cut', () => {
    fc.assert(
      fc.property(rowsOf, (rows) => {
        const text = fitTable(
          columns,
          rows.map((row) => row.map((each) => ({ text: each }))),
          undefined,
          plain,
        ).join('\n');
        for (const row of rows) for (const each of row) assert.ok(text.includes(each));
      }),
    );
  });

  test('the column that is needed least leaves first', () => {
    const row = ['✓', 'tickets-of-support', 'mcp.example.com', 'default/public', 'True'].map((text) => ({ text }));
    const [wide, , , narrow] = [80, 45, 40, 30].map((width) => fitTable(columns, [row], width, plain)[0]);
    assert.equal(wide, '   NAME                HOSTNAMES        PARENT          ACCEPTED');
    assert.doesNotMatch(narrow ?? '', /HOSTNAMES/);
    assert.match(narrow ?? '', /NAME/);
  });

  test('control characters of others are made visible, and colours take no room', () => {
    const [, line] = fitTable([{ title: 'NAME' }], [[{ text: 'a\u001B[2Jb', color: 'red' }]], 80, createPalette(true));
    assert.equal(line, '\u001B[31ma\\x1b[2Jb\u001B[39m');
  });
});

test('wrapping breaks between words, and keeps them all', () => {
  assert.deepEqual(wrapText('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapText('one two three', undefined), ['one two three']);
  assert.deepEqual(wrapText('a-very-long-word b', 5), ['a-very-long-word', 'b']);
});
