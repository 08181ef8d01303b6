import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readStrictJson } from './strict-json.ts';

function read(text: string | Uint8Array): unknown {
  const json = readStrictJson(typeof text === 'string' ? Buffer.from(text) : text);
  return json.ok ? json.value : json.problem;
}

function readElements(text: string): string[] {
  const json = readStrictJson(Buffer.from(text));
  assert.ok(json.ok);
  return json.elements.map(({ start, end }) => json.text.slice(start, end));
}

describe('what every reader understands the same way is read', () => {
  for (const text of [
    '{}',
    '[]',
    'null',
    '1',
    '"a"',
    ' \t\r\n{"a" : {"b":[1,-2.5e3,true,false,null,"\\u00e9\\n\\"\\\\"]}} ',
    '{"a":":","b":"{[,","c":"\\\\"}',
    '{"a":{"a":1},"b":[{"a":2},{"a":3}]}',
    '{"":1," ":2}',
    '"\\ud83d\\ude00"',
    '{"constructor":1,"toString":2,"0":3}',
    `${'['.repeat(64)}${']'.repeat(64)}`,
  ])
    test(text.slice(0, 60), () => assert.deepEqual(read(text), JSON.parse(text)));
});

describe('what is no JSON is not', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '01',
    '1.',
    'NaN',
    'undefined',
    '"\t"',
    '"\\x41"',
    '"a',
    '"a\\"',
    '{"a":1}{"b":2}',
    '{"a":1} x',
    '// a\n{}',
    '{"a"::1}',
    '\u00a0{}',
    '\u2028{}',
    '\ufeff{}',
  ])
    test(JSON.stringify(text), () => assert.equal(read(text), 'is not JSON'));

  for (const [name, bytes] of [
    ['a lone byte', [0x22, 0xff, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a character that breaks off', [0x22, 0xe2, 0x82]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ] as const)
    test(`bytes: ${name}`, () => assert.equal(read(Uint8Array.from(bytes)), 'is not UTF-8'));

  test('UTF-16 without a mark has zeros between its characters', () =>
    assert.equal(read(Buffer.from('{}', 'utf16le')), 'is not JSON'));
});

describe('what two readers could understand differently is refused', () => {
  for (const [text, problem] of [
    ['{"a":1,"a":1}', 'has the same key twice'],
    ['{"a":1,"\\u0061":2}', 'has the same key twice'],
    ['{"b":[[{"x":{"a":1,"c":2,"a":3}}]]}', 'has the same key twice'],
    ['[{"a":1},{"a":1,"a":2}]', 'has the same key twice'],
    ['{"":1,"":2}', 'has the same key twice'],
    ['{"__proto__":{}}', 'has a key that is not allowed'],
    ['{"a":{"\\u005f_proto__":null}}', 'has a key that is not allowed'],
    ['{"__proto__":1,"__proto__":2}', 'has a key that is not allowed'],
    ['{"a":"\\ud800"}', 'has a text that is not valid Unicode'],
    ['["\\udc00\\ud800"]', 'has a text that is not valid Unicode'],
    ['{"\\ud800":1}', 'has a key that is not valid Unicode'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'is nested too deeply'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'is nested too deeply'],
    ['['.repeat(2_000_000), 'is nested too deeply'],
    [`[${'[],'.repeat(100_000)}0]`, 'has too many parts'],
    [`{"a":[${'{"b":1},'.repeat(50_000)}0]}`, 'has too many parts'],
    [`[${'1,'.repeat(1_001)}1]`, 'has too many parts'],
  ] as const)
    test(text.slice(0, 60), () => assert.equal(read(text), problem));
});

test('a long list of numbers or a long text has few parts', () => {
  assert.equal((read(`{"a":[${'1,'.repeat(500_000)}1]}`) as { a: unknown[] }).a.length, 500_001);
  assert.equal(read(`"${'{[:'.repeat(500_000)}"`), '{[:'.repeat(500_000));
  assert.equal((read(`{"a":[${'[],'.repeat(99_996)}[]]}`) as { a: unknown[] }).a.length, 99_997);
});

describe('the elements of the outermost array', () => {
  for (const [text, elements] of [
    ['[]', []],
    [' [ ] ', []],
    ['[1]', ['1']],
    ['[{"a":[1,2]},"x,]",[[]] ]', ['{"a":[1,2]}', '"x,]"', '[[]] ']],
    ['{"a":[1,2]}', []],
    ['"[1,2]"', []],
  ] as const)
    test(text, () => assert.deepEqual(readElements(text), elements));
});

// https://github.com/nodejs/node/issues/63785
test('no message prepares the way for a key in another one', () => {
  const prepare = String.raw`{"params":[{"second":1,"name":"a","n\\u0":1},{"q":1,"p\\u0":1}]}`;
  for (let i = 0; i < 3; i += 1) read(prepare);
  assert.equal(read(String.raw`{"second":1,"name":"ticket_open","n\u0061me":"wipe"}`), 'has the same key twice');
  assert.deepEqual(read(String.raw`{"q":1,"p\u0061th":"/etc"}`), { q: 1, path: '/etc' });
});
