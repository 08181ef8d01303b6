import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readJsonObject } from './json-object.ts';

const strict = { refuseDuplicateKeys: true };

describe('reading a JSON object', () => {
  test('an object comes back as it is', () => {
    const text = '{"a":[1,{"b":"}{\\"]"}],"":null,"a.b":"__proto__"}';
    assert.deepEqual(readJsonObject(text, strict), { ok: true, value: JSON.parse(text) });
  });

  for (const [text, problem] of [
    ['', 'is not JSON'],
    ['<html>', 'is not JSON'],
    ['{"a":1', 'is not JSON'],
    ['{"a":"', 'is not JSON'],
    ['{"a":1}x', 'is not JSON'],
    ["{'a':1}", 'is not JSON'],
    ['{"a":1,}', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    ['"{}"', 'is not a JSON object'],
    ['{"__proto__":{"admin":true}}', 'has a key that is not allowed'],
    ['{"a":{"\\u005f_proto__" : 1}}', 'has a key that is not allowed'],
  ] as const) {
    test(`refused: ${text}`, () => assert.deepEqual(readJsonObject(text), { ok: false, problem }));
  }

  test('depth is bounded, also far beyond it', () => {
    const nest = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    assert.equal(readJsonObject(nest(32)).ok, true);
    assert.deepEqual(readJsonObject(nest(33)), { ok: false, problem: 'is nested too deeply' });
    assert.deepEqual(readJsonObject(`{"a":${'['.repeat(100_000)}`), { ok: false, problem: 'is nested too deeply' });
  });

  test('the same key twice in one object is refused when asked, in any spelling', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":[{"b":{},"c":1,"b":1}]}', '{"":0,"" :1}']) {
      assert.deepEqual(readJsonObject(text, strict), { ok: false, problem: 'has the same key twice' }, text);
      assert.equal(readJsonObject(text).ok, true, text);
    }
    for (const text of ['{"a":{"a":1},"b":[{"a":1},{"a":2}]}', '{"a":"a","A":"a"}', '{"a":["b","b"],"b":1}']) {
      assert.equal(readJsonObject(text, strict).ok, true, text);
    }
  });

  test('whatever JSON.stringify writes is read back, with and without white space', () => {
    const values = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 4 }),
    );
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        fc.pre(!text.includes('__proto__'));
        assert.deepEqual(readJsonObject(text, strict), { ok: true, value: JSON.parse(text) });
      }),
    );
  });
});
