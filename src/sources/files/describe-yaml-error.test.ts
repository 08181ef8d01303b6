// Mistakes that people make in YAML: each has a sentence of its own, at the line to edit.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readYaml } from './read-yaml.ts';

const cases: readonly (readonly [what: string, text: string, position: string, message: RegExp])[] = [
  [
    'no line between two resources',
    'apiVersion: v1\nkind: A\nmetadata: {name: a}\napiVersion: v1\nkind: B\nmetadata: {name: b}\n',
    '4:1',
    /^a second resource begins here; put a line with --- between two resources$/,
  ],
  ['that line is indented', 'kind: A\nspec:\n  a: 1\n  ---\nkind: B\n', '4:1', /begins in the first column: ---$/],
  ['that line is too short', 'kind: A\n--\nkind: B\n', '2:1', /a line of three hyphens/],
  ['a tab', 'spec:\n\tport: 1\n', '2:1', /^indented with a tab; .* replace it with spaces/],
  ['a key too deep', 'spec:\n  class: a\n    port: 1\n', '3:5', /^indented deeper than line 2, which has a value/],
  [
    'a key under the hyphen of its item',
    'list:\n  - name: a\n  port: 1\n    host: b\n',
    '3:3',
    /^begins under the hyphen of line 2; .* in column 5$/,
  ],
  ['a list that is too deep', 'list:\n    - name: a\n    port: 1\n', '3:5', /under its first key, in column 7$/],
  ['a list item that is not deep enough', 'r:\n- m: 1\n  b:\n- x: 1\n    y: 2\n', '4:1', /keys of a list item begin/],
  ['no space after a hyphen', 'list:\n  -name: a\n   port: 1\n', '2:3', /hyphen of a list item needs a space/],
  ['quotes in quotes, in brackets', 'a: [""b" in c"]\n', '1:7', /^the quotes end here.*: '"admins" in jwt\.groups'$/],
  ['quotes in quotes, in a list', 'a:\n- "b" in c\n', '2:7', /quotes of the other kind/],
  ['single quotes in single quotes', "a: 'b == 'c''\n", '1:11', /of the other kind: "jwt\.sub == 'bob'"$/],
  ['a colon in a value', 'a:\n  b: c: d\n', '2:6', /^a value with a colon and a space .*: NAME: "VALUE: MORE"$/],
  ['no space after a colon', 'a:\n  b:c\n  d: e\n', '2:3', /^a colon needs a space after it: NAME: VALUE$/],
  ['no colon', 'a:\n  b\n  - c: d\n  e: f\n', '2:3', /^a line without a colon/],
  ['an open bracket', 'a:\n- {b: c\nd: e\n', '3:1', /^the bracket \{ in line 2 is not closed; put a \}/],
  ['an open quote', 'a: "b\nc: d\n', '3:1', /never closed; it is probably the one in line 1$/],
  ['a wildcard without quotes', 'hostname: *.example.com\n', '1:11', /in quotes: "\*\.example\.com"$/],
  ['a character that needs quotes', 'name: @a\n', '1:7', /unless it is in quotes: NAME: "VALUE"$/],
  ['a non-breaking space', 'spec: 1\n\u00a0\u00a0port: 1\n', '2:1', /^begins with a space that is none for YAML/],
];

describe('mistakes in YAML', () => {
  for (const [what, text, position, message] of cases) {
    for (const [system, written] of [
      ['', text],
      [' (Windows)', `\ufeff${text.replaceAll('\n', '\r\n')}`],
    ] as const) {
      test(`${what}${system}`, () => {
        const read = readYaml(written);
        assert.ok(!read.ok);
        assert.equal(read.problems.length, 1);
        assert.match(read.problems[0]!.message, message);
        // The byte order mark counts as a column of the first line.
        if (system === '' || !position.startsWith('1:'))
          assert.equal(Object.values(read.problems[0]!.position ?? {}).join(':'), position);
      });
    }
  }

  test('files of Windows are read: a byte order mark, and CRLF', () => {
    const read = readYaml('\ufeffkind: A\r\nspec:\r\n  port: 1\r\n---\r\nkind: B\r\n');
    assert.ok(read.ok);
    assert.deepEqual(
      read.resources.map(({ raw }) => raw),
      [{ kind: 'A', spec: { port: 1 } }, { kind: 'B' }],
    );
  });
});
