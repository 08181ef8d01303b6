// The table of faults in docs/debugging-logins.md is true: every fault is made, and all four aids say what its row says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { askAbout, faults, type Said } from '../integration/login-faults.ts';

const columns = ['check --online', 'login', 'inspector', 'log'] as const;

/** The rows of the table: a fault, and a text for each column. */
function readTable(): Map<string, Readonly<Record<string, string>>> {
  const page = readFileSync(join(import.meta.dirname, '../../docs/debugging-logins.md'), 'utf8');
  const lines = page.split('\n');
  const head = lines.findIndex((line) => line.startsWith('| fault | '));
  assert.notEqual(head, -1, 'there is no table of faults');
  const end = lines.findIndex((line, index) => index > head && !line.startsWith('|'));
  const readCells = (line: string): string[] => line.slice(2, -2).split(' | ');
  assert.deepEqual(
    readCells(lines[head]!)
      .slice(1)
      .map((cell) => cell.replaceAll('`', '')),
    columns,
  );
  const rows = lines.slice(head + 2, end).map(readCells);
  return new Map(
    rows.map(([fault, ...cells]) => {
      assert.equal(cells.length, columns.length, `cells of ${fault}`);
      return [fault!, Object.fromEntries(columns.map((column, index) => [column, cells[index]!]))];
    }),
  );
}

/** The quoted texts of a cell; `...` stands for names, addresses and numbers. */
function readTexts(cell: string): RegExp[] {
  const texts = [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
  assert.ok(texts.length > 0, `nothing is quoted: ${cell}`);
  return texts.map(
    (text) =>
      new RegExp(
        text
          .split('...')
          .map((part) => RegExp.escape(part))
          .join('[^\n]*'),
      ),
  );
}

/** Columns of the output are aligned by spaces. */
function flatten(text: string): string {
  return text.replaceAll(/[ \t]+/g, ' ');
}

// A few at a time: each has a gateway and an identity provider, which have to answer in time.
describe('what the four aids say about a login that fails', { concurrency: 3 }, () => {
  const table = readTable();

  test('the table has every fault that can be made, and no other', () => {
    assert.deepEqual([...table.keys()].toSorted(), Object.keys(faults).toSorted());
  });

  for (const [name, fault] of Object.entries(faults)) {
    test(name, async () => {
      const row = table.get(name)!;
      const isTrue = (said: Said, column: (typeof columns)[number]): boolean =>
        readTexts(row[column]!).every((text) => text.test(flatten(said[column])));
      const said = await askAbout(fault, (each) => isTrue(each, 'inspector') && isTrue(each, 'log'));
      for (const column of columns) {
        assert.ok(isTrue(said, column), `${column} does not say ${row[column]}:\n${said[column]}`);
        assert.doesNotMatch(said[column], /(?<!\.)\.\.(?!\.)/, `${column}: two full stops`);
        assert.doesNotMatch(said[column], /the-right-secret|a-wrong-one|used-up|eyJ/, `${column}: a secret`);
      }
    });
  }
});
