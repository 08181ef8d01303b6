import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readYaml, readYamlInTurns, type RawResource, type TextProblem } from './read-yaml.ts';
import { Turns } from './take-turns.ts';
import { effort } from '../../../test/kit/effort.ts';

function readGood(text: string): readonly RawResource[] {
  const result = readYaml(text);
  assert.ok(result.ok, JSON.stringify(result));
  return result.resources;
}

function readBad(text: string): readonly TextProblem[] {
  const result = readYaml(text);
  assert.ok(!result.ok, JSON.stringify(result));
  return result.problems;
}

const rawOf = (text: string): unknown[] => readGood(text).map(({ raw }) => raw);

describe('readYaml reads', () => {
  test('several documents, skipping empty ones and comments', () => {
    assert.deepEqual(rawOf('# nothing\n---\nkind: A\n---\n---\n# more\n---\nkind: B\n...\n'), [
      { kind: 'A' },
      { kind: 'B' },
    ]);
  });

  test('nothing from an empty text, comments alone, or a byte order mark alone', () => {
    for (const text of ['', '\n\n', '# only a comment\n', '---\n', '\ufeff']) assert.deepEqual(rawOf(text), []);
  });

  test('JSON, with tabs, escapes and surrogate pairs', () => {
    assert.deepEqual(rawOf('{\n\t"kind": "A",\n\t"spec": {"a": [1, true, null, "\\ud83d\\ude00\\n"]}\n}\n'), [
      { kind: 'A', spec: { a: [1, true, null, '😀\n'] } },
    ]);
  });

  test('YAML 1.2: "no", "on" and times are texts', () => {
    assert.deepEqual(rawOf('a: no\nb: on\nc: 2026-01-31T12:00:00Z\nd: 0o17\ne: 017'), [
      { a: 'no', b: 'on', c: '2026-01-31T12:00:00Z', d: 15, e: 17 },
    ]);
  });

  test('anchors and aliases, as often as one likes when they do not multiply', () => {
    const uses = Array.from({ length: 500 }, (_, index) => `  l${index}: *x`).join('\n');
    const [raw] = rawOf(`x: &x {a: 1}\nuses:\n${uses}\n`) as [{ uses: Record<string, unknown> }];
    assert.equal(Object.keys(raw.uses).length, 500);
    assert.deepEqual(raw.uses['l499'], { a: 1 });
  });

  test('"${NAME}" as a plain text, in the block form and in quotes', () => {
    assert.deepEqual(rawOf('stringData:\n  a: ${NAME}\n  b: "${NAME}"\nc: {d: "${NAME}"}\n'), [
      { stringData: { a: '${NAME}', b: '${NAME}' }, c: { d: '${NAME}' } },
    ]);
  });

  test('lists, also of one kind and inside each other, with positions of their items', () => {
    const text = [
      'apiVersion: v1',
      'kind: List',
      'metadata: {resourceVersion: ""}',
      'items:',
      '- kind: A',
      '  spec: {port: 1}',
      '- kind: HTTPRouteList',
      '  items:',
      '  - kind: B',
      '    spec:',
      '      port: 2',
    ].join('\n');
    const resources = readGood(text);
    assert.deepEqual(
      resources.map(({ raw }) => raw),
      [
        { kind: 'A', spec: { port: 1 } },
        { kind: 'B', spec: { port: 2 } },
      ],
    );
    assert.deepEqual(resources[0]!.locate(['spec', 'port']), { line: 6, column: 16 });
    assert.deepEqual(resources[1]!.locate(['spec', 'port']), { line: 11, column: 13 });
    assert.deepEqual(resources[1]!.locate(['metadata']), { line: 9, column: 5 });
  });

  test('a resource whose kind ends in List but has no items as itself', () => {
    assert.deepEqual(rawOf('kind: AllowList\nspec: {}'), [{ kind: 'AllowList', spec: {} }]);
  });
});

describe('readYaml refuses', () => {
  const cases: readonly [what: string, text: string, line: number, column: number, message: RegExp][] = [
    ['duplicate keys', 'a: 1\nspec:\n  port: 1\n  port: 2\n', 4, 3, /the key "port" appears twice/],
    ['duplicate keys of different types', 'a:\n  1: x\n  "1": y\n', 3, 3, /the key "1" appears twice/],
    ['duplicate keys in JSON', '{"a": 1, "a": 2}', 1, 10, /appears twice/],
    ['__proto__', 'a: 1\n__proto__: {b: 1}\n', 2, 1, /not allowed/],
    ['keys that are lists', '? [a, b]\n: c\n', 1, 3, /a key must be a plain name/],
    ['keys that are null', 'a:\n  ~: c\n', 2, 3, /a key must be a plain name/],
    ['tags', 'a: !secret x\n', 1, 4, /tags/],
    ['tags that YAML 1.1 knows', 'a: !!binary aGk=\n', 1, 4, /tags/],
    ['YAML 1.1', '%YAML 1.1\n---\na: no\n', 3, 1, /YAML 1\.1 is not read/],
    ['a directive and nothing else', '%NOPE x\n', 1, 1, /directive|character is missing/],
    ['tabs', 'a:\n\tb: 1\n', 2, 1, /tab/],
    ['bad indentation', 'a:\n    b: 1\n  c: 2\n', 3, 1, /indentation/],
    ['an open quote', 'a: "b\n', 2, 1, /quote was opened/],
    ['an open bracket', 'a: [1, 2\nb: 1\n', 2, 1, /bracket/],
    ['a colon in a value', 'a: b: c\n', 1, 4, /in quotes/],
    ['an alias without an anchor', 'a: *b\n', 1, 4, /needs an anchor/],
    ['an alias inside of its own anchor', 'a: &a [1, *a]\n', 1, 11, /never ends/],
    ['a reference in { } without quotes', 'stringData: {key: ${ENV_NAME}}\n', 1, 20, /needs quotes/],
    ['a list without items', 'kind: List\nspec: 1\n', 1, 1, /items/],
    ['fields of a list that do nothing', 'kind: List\nitems: []\nspec: 1\n', 3, 1, /no such field in a list/],
    ['a second value after the first', '{"a": 1}\n{"b": 2}\n', 2, 1, /does not belong here/],
  ];
  for (const [what, text, line, column, message] of cases) {
    test(what, () => {
      const [problem, ...rest] = readBad(text);
      assert.match(problem!.message, message);
      assert.deepEqual(problem!.position, { line, column });
      assert.deepEqual(rest, []);
    });
  }

  test('billion laughs, quickly', () => {
    let text = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n';
    for (let level = 1; level < 12; level++) {
      const aliases = Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ');
      text += `a${level}: &a${level} [${aliases}]\n`;
    }
    assert.match(readBad(text)[0]!.message, /aliases add more than/);
  });

  test('deep nesting, however deep', () => {
    for (const depth of [101, 500, 50_000]) {
      assert.match(readBad(`${'['.repeat(depth)}${']'.repeat(depth)}`)[0]!.message, /nested deeper|bracket/);
    }
    assert.match(readBad(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)[0]!.message, /nested deeper/);
  });

  test('the whole text when one document is bad, with a problem for each bad document', () => {
    const problems = readBad('kind: A\n---\na: [\n---\nkind: B\n---\n\tx: 1\n');
    assert.equal(problems.length, 2);
  });

  test('without ever quoting the text', () => {
    for (const text of [
      'stringData: {password: "hunter2\\q"}',
      'password: |hunter2\n',
      'stringData: [hunter2',
      'a: "hunter2\nb: 1',
      'a: "x" hunter2',
      'password: @hunter2',
      'a: *hunter2',
      'a: !hunter2 b',
      '%hunter2 x\n---\na: 1',
      'a: b\nhunter2',
      '- a\nhunter2: b',
      '&hunter2 &b c',
    ]) {
      for (const problem of readBad(text)) assert.doesNotMatch(problem.message, /hunter2|\\q/, text);
    }
  });
});

test('readYaml never throws, and positions lie in the text', () => {
  const alphabet = fc.constantFrom(
    'a',
    ':',
    ' ',
    '\n',
    '-',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '&a',
    '*a',
    '!',
    '|',
    '>',
    '#',
    '\t',
    ',',
    '?',
    '%',
    '---\n',
    'kind: List\n',
  );
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 40 }), (parts) => {
      const text = parts.join('');
      const result = readYaml(text);
      const lines = text.split('\n').length;
      if (result.ok) {
        for (const resource of result.resources) {
          const { line, column } = resource.locate(['a', 0, 'b']);
          assert.ok(line >= 1 && line <= lines && column >= 1);
        }
      } else {
        assert.ok(result.problems.length > 0);
        for (const { position } of result.problems)
          assert.ok(position === undefined || (position.line >= 1 && position.line <= lines));
      }
    }),
    { numRuns: effort(2_000, 300) },
  );
});

test('readYamlInTurns reads the same, and lets others run while it reads', async () => {
  const text = Array.from({ length: 3000 }, (_, index) => `kind: A\nspec: {index: ${index}, list: [1, 2, 3]}\n`).join(
    '---\n',
  );
  let turns = 0;
  let reading = true;
  const count = (): void => {
    turns++;
    if (reading) setImmediate(count);
  };
  setImmediate(count);
  const result = await readYamlInTurns(text, new Turns());
  reading = false;
  assert.ok(result.ok);
  assert.deepEqual(
    result.resources.map(({ raw }) => raw),
    readGood(text).map(({ raw }) => raw),
  );
  assert.ok(turns > 1);
});
