import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { findHalfCharacter, type JsonRules, readJson } from './read-json.ts';
import { effort } from '../../test/kit/effort.ts';
import { type JsonTree, plantJsonTree, readJsonTree } from '../../test/kit/json-tree.ts';

const strict: JsonRules = {
  maxDepth: 8,
  maxParts: 1_000,
  maxElements: 10,
  refuseDoubledKeys: true,
  refuseHalfCharacters: true,
};
const lenient: JsonRules = { ...strict, refuseDoubledKeys: false, refuseHalfCharacters: false };

function read(text: string, rules = strict): unknown {
  const reading = readJson(text, rules);
  return reading.ok ? reading.value : reading.problem;
}

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A key in all spellings that have some of these characters escaped. */
function* spell(key: string): Generator<string> {
  for (let mask = 0; mask < 2 ** key.length; mask += 1)
    yield `"${key
      .split('')
      .map((character, i) => (mask & (2 ** i) ? escape(character) : character))
      .join('')}"`;
}

describe('doubled keys', () => {
  test('a key is the same in every spelling', () => {
    for (const first of spell('key'))
      for (const second of spell('key')) {
        const text = `{"a":[{${first}:1,"b":2,${second.replace('6b', '6B')} :3}]}`;
        assert.equal(read(text), 'has the same key twice', text);
        assert.deepEqual(read(text, lenient), { a: [{ key: 3, b: 2 }] }, text);
      }
  });

  test('short escapes, slashes and surrogate pairs', () => {
    for (const [first, second] of [
      [String.raw`"a\/b"`, '"a/b"'],
      [String.raw`"\n"`, String.raw`"\u000A"`],
      [String.raw`"\""`, String.raw`"\u0022"`],
      [String.raw`"\\"`, String.raw`"\u005c"`],
      ['"\u{1f600}"', String.raw`"\ud83d\ude00"`],
      ['"\u{1f600}"', String.raw`"\uD83D\uDE00"`],
      ['"\\u0000"', String.raw`"\u0000"`],
    ] as const)
      assert.equal(read(`{${first}:1,${second} :2}`), 'has the same key twice', second);
  });

  test('not in two objects, not in two cases, not in values', () => {
    for (const text of ['{"a":{"a":1},"b":[{"a":1},{"a":2}]}', '{"a":1,"A":2}', '{"a":["b","b"],"b":"a"}', '["a","a"]'])
      assert.deepEqual(read(text), JSON.parse(text));
  });

  // https://github.com/nodejs/node/issues/63785
  test('whatever shapes of objects JSON.parse has seen before', () => {
    for (let i = 0; i < 3; i += 1) {
      read(String.raw`[{"first":1,"name":"a","n\\u0":1},{"q":1,"p\\u0":1},{"h":1,"\\":1}]`);
      JSON.parse(String.raw`[{"first":1,"name":"a","n\\u0":1},{"q":1,"p\\u0":1},{"h":1,"\\":1}]`);
    }
    assert.equal(read(String.raw`{"first":1,"name":"a","n\u0061me":"b"}`), 'has the same key twice');
    assert.deepEqual(read(String.raw`{"q":1,"p\u0061th":2}`), { q: 1, path: 2 });
    assert.deepEqual(read(String.raw`{"h":1,"\"":2}`), { h: 1, '"': 2 });
    assert.deepEqual(read(String.raw`{"q":1,"p\u0061th":2}`, lenient), { q: 1, path: 2 });
    assert.equal(read(String.raw`{"h":1,"\ud800":2}`), 'has a key that is not valid Unicode');
  });
});

test('`__proto__` is no key, in any spelling and even where another key hides it', () => {
  for (const key of spell('__proto__')) {
    assert.equal(read(`{"a":{${key} :1}}`, lenient), 'has a key that is not allowed', key);
    assert.equal(read(`{"a":{${key}:1},"a":2}`, lenient), 'has a key that is not allowed', key);
    assert.deepEqual(read(`{"a":${key}}`), { a: '__proto__' });
  }
  for (const key of [
    '_proto__',
    '__proto___',
    '__PROTO__',
    '__proto_',
    String.raw`__proto__\u0000`,
    String.raw`\u0061_proto__`,
  ])
    assert.deepEqual(Object.values(read(`{"${key}":1}`) as object), [1], key);
});

describe('of several problems the first of these is told', () => {
  for (const [text, problem, isSyntax] of [
    [`{"__proto__":1,"a":1,"a":"\\ud800","b":${'['.repeat(9)}`, 'is nested too deeply', false],
    [`[${'1,'.repeat(11)}`, 'has too many parts', false],
    ['{"__proto__":1,"a":1,"a":"\\ud800"', 'is not JSON', true],
    ['{"__proto__" 1}', 'is not JSON', true],
    ['{"a":1,"a":"\\ud800","__proto__":1}', 'has a key that is not allowed', false],
    ['{"a":1,"a":"\\ud800"}', 'has a text that is not valid Unicode', false],
    ['{"a":1,"a":1}', 'has the same key twice', false],
  ] as const)
    test(`${problem}: ${text.slice(0, 40)}`, () =>
      assert.deepEqual(readJson(text, strict), { ok: false, isSyntax, problem }));
});

test('half of a surrogate pair, escaped or not', () => {
  assert.equal(findHalfCharacter('{"a":"\ud800"}', { a: '\ud800' }), 'text');
  assert.equal(findHalfCharacter('{"\ud800":1}', { '\ud800': 1 }), 'key');
  assert.equal(findHalfCharacter(String.raw`[["\udc00"]]`, [['\udc00']]), 'text');
  assert.equal(findHalfCharacter(String.raw`["\\ud800","\ud83d\ude00"]`, ['\\ud800', '\u{1f600}']), undefined);
});

test('what is large is read in one go', () => {
  const many = { ...strict, maxParts: Infinity, maxElements: Infinity };
  const keys = Array.from({ length: 10_000 }, (_, i) => `"\\u006b${i}":1`);
  assert.equal(Object.keys(read(`{${keys.join(',')}}`, many) as object).length, 10_000);
  assert.equal(read(`{${keys.join(',')},"k9999":1}`, many), 'has the same key twice');
  assert.equal(read(`{${'"a":1,'.repeat(100_000)}"a":1}`, many), 'has the same key twice');
  assert.deepEqual(read(`{"${'\\u0061'.repeat(100_000)}":"${'\\\\'.repeat(100_000)}"}`), {
    ['a'.repeat(100_000)]: '\\'.repeat(100_000),
  });
  for (const broken of ['"', '{"a\\"', '{"a":"\\"', '[{', '{,', '\\', '}'])
    assert.notEqual(readJson(broken.repeat(100_000), many).ok, true);
});

function hasDoubledKey(tree: JsonTree): boolean {
  if (Array.isArray(tree)) return tree.some(hasDoubledKey);
  if (typeof tree !== 'object' || tree === null) return false;
  const keys = tree.members.map(([key]) => key);
  return new Set(keys).size < keys.length || tree.members.some(([, value]) => hasDoubledKey(value));
}

describe('property: a second reader says the same', () => {
  const name = fc.constantFrom('a', 'b', 'name', '"', '\\', 'a\\', '\n', 'n\\u0', '/', '', '0', 'é', '\u{1f600}');
  const string = fc
    .tuple(name, fc.nat(3), fc.infiniteStream(fc.boolean()))
    .map(([text, mode, flags]) =>
      mode < 2
        ? JSON.stringify(text)
        : `"${Array.from({ length: text.length }, (_, i) => ((flags.next().value as boolean) ? escape(text[i]!) : JSON.stringify(text[i]).slice(1, -1))).join('')}"`,
    );
  const gap = fc.constantFrom('', '', ' ', '\r\n\t');
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('1', '-2.5e3', 'true', 'null', '""'),
      string,
      fc
        .tuple(fc.array(tie('value'), { maxLength: 3 }), gap)
        .map(([items, space]) => `[${items.join(`${space},`)}${space}]`),
      fc
        .tuple(fc.array(fc.tuple(string, tie('value')), { maxLength: 4 }), gap)
        .map(([members, space]) => `{${members.map(([key, member]) => `${space}${key}${space}:${member}`).join(',')}}`),
    ),
  }));
  const broken = fc
    .tuple(value, fc.nat(), fc.constantFrom('{', '}', '[', ']', ':', ',', '"', '\\', ' ', ''), fc.nat(2))
    .map(([text, place, piece, length]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + piece + text.slice(at + length);
    });
  const rules = { ...strict, maxDepth: 64, refuseHalfCharacters: false };

  for (const [title, texts] of [
    ['of JSON', value],
    ['of what may be none', broken],
  ] as const)
    test(title, () => {
      fc.assert(
        fc.property(texts, (text) => {
          let tree: JsonTree;
          try {
            tree = readJsonTree(text);
          } catch {
            assert.equal(read(text, rules), 'is not JSON');
            return;
          }
          if (Array.isArray(tree) && tree.length > rules.maxElements) return;
          assert.deepEqual(read(text, { ...rules, refuseDoubledKeys: false }), plantJsonTree(tree));
          assert.deepEqual(read(text, rules), hasDoubledKey(tree) ? 'has the same key twice' : plantJsonTree(tree));
        }),
        { numRuns: effort(20_000) },
      );
    });
});
