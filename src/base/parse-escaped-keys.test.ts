import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseEscapedKeys } from './parse-escaped-keys.ts';
import { plantJsonTree, readJsonTree } from '../../test/kit/json-tree.ts';

function attempt(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return 'no JSON';
  }
}

test('a key is what its escapes say, whatever was parsed before', () => {
  // JSON.parse remembers the keys of the first one, and may take those of the second for them.
  for (const [first, second, key] of [
    [String.raw`{"name":1,"n\\u0":2}`, String.raw`{"name":1,"n\u0061me":2}`, 'name'],
    [String.raw`{"h":1,"\\":2}`, String.raw`{"h":1,"\"":2}`, '"'],
    [String.raw`{"h":1,"\\":2}`, String.raw`{"h":1,"\n":2}`, '\n'],
    [String.raw`{"h":1,"a\\":2}`, String.raw`{"h":1,"a\/":2}`, 'a/'],
  ] as const) {
    for (let i = 0; i < 3; i += 1) JSON.parse(first);
    assert.deepEqual(parseEscapedKeys(second), plantJsonTree(readJsonTree(second)));
    assert.ok(Object.hasOwn(parseEscapedKeys(second) as object, key));
  }
});

test('a key `__proto__` is a member like others', () => {
  const value = parseEscapedKeys(String.raw`{"__proto\u005f_":{"a":1}}`) as object;
  assert.deepEqual(Object.keys(value), ['__proto__']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test('property: what JSON.stringify writes is read back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      assert.deepEqual(parseEscapedKeys(` ${text}\n`), plantJsonTree(readJsonTree(text)));
    }),
  );
});

test('property: of broken texts it accepts what the grammar accepts', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    ' ',
    '\n',
    '\t',
    '',
    '1',
    '-',
    'e',
    'null',
    '"a"',
    '\\u0061',
    '\\"',
    '\0',
    '\u00a0',
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.nat(), piece, fc.nat(2)).map(([value, place, inserted, length]) => {
      const valid = JSON.stringify(value);
      const at = place % (valid.length + 1);
      return valid.slice(0, at) + inserted + valid.slice(at + length);
    }),
  );
  fc.assert(
    fc.property(text, (broken) => {
      const expected = attempt(() => plantJsonTree(readJsonTree(broken)));
      assert.deepEqual(
        attempt(() => parseEscapedKeys(broken)),
        expected,
      );
    }),
    { numRuns: 2_000 },
  );
});
