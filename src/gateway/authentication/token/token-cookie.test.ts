import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { listCookieValues, withoutCookie } from './token-cookie.ts';

const read = (...fields: string[]): string[] =>
  listCookieValues(
    fields.flatMap((field) => ['Cookie', field]),
    'token',
  );
const cut = (...fields: string[]): readonly string[] =>
  withoutCookie(
    fields.flatMap((field) => ['Cookie', field]),
    'token',
  ).filter((_, index) => index % 2 === 1);

describe('a cookie with a token', () => {
  test('is found among others, in one field or in several', () => {
    assert.deepEqual(read('token=a.b.c'), ['a.b.c']);
    assert.deepEqual(read('x=1; token=a; y=2'), ['a']);
    assert.deepEqual(read('x=1;token=a;y=2'), ['a']);
    assert.deepEqual(read('x=1', 'token=a'), ['a']);
    assert.deepEqual(listCookieValues(['cookie', 'token=a', 'COOKIE', 'x=1'], 'token'), ['a']);
    assert.deepEqual(read('token="a"'), ['a']);
    assert.deepEqual(read('token=a=b'), ['a=b']);
    assert.deepEqual(read('token = a '), ['a']);
    assert.deepEqual(read('token='), ['']);
  });

  test('is found as often as it is there', () => {
    assert.deepEqual(read('token=a; token=b'), ['a', 'b']);
    assert.deepEqual(read('token=a', 'token=a'), ['a', 'a']);
  });

  test('is not what only looks like it', () => {
    for (const field of ['Token=a', 'xtoken=a', 'token2=a', 'x=token=a', 'token', 'x="; token', ''])
      assert.deepEqual(read(field), [], field);
    assert.deepEqual(listCookieValues(['set-cookie', 'token=a', 'cookie2', 'token=a'], 'token'), []);
  });

  test('is taken out exactly, and the rest keeps its bytes', () => {
    assert.deepEqual(cut('x=1; token=a; y= 2 ;z'), ['x=1; y= 2 ;z']);
    assert.deepEqual(cut('token=a; x=1'), ['x=1']);
    assert.deepEqual(cut('x=1; token=a'), ['x=1']);
    assert.deepEqual(cut('x=%20"; token="a"'), ['x=%20"']);
    assert.deepEqual(cut('token=a; token=b; Token=c'), ['Token=c']);
    assert.deepEqual(cut('x=1; token', 'xtoken=2'), ['x=1; token', 'xtoken=2']);
  });

  test('takes its field along when nothing else is in it, and no other field', () => {
    assert.deepEqual(cut('token=a', 'x=1', 'token=b'), ['x=1']);
    const headers = ['a', '1', 'Cookie', 'token=a', 'b', 'token=a'];
    assert.deepEqual(withoutCookie(headers, 'token'), ['a', '1', 'b', 'token=a']);
    const without = ['a', '1', 'Cookie', 'x=token'];
    assert.equal(withoutCookie(without, 'token'), without, 'nothing to do, nothing copied');
  });

  test('is gone when it was taken out, whatever the fields are', () => {
    const piece = fc.oneof(
      fc.constantFrom('token=a', ' token=b', 'token', 'x=1', ' y=2 ', '', '"', '=', 'token ="c"'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(fc.array(piece)), (fields) => {
        const headers = fields.flatMap((pieces) => ['cookie', pieces.join(';')]);
        const others = listCookieValues(headers, 'x');
        const left = withoutCookie(headers, 'token');
        assert.deepEqual(listCookieValues(left, 'token'), []);
        assert.deepEqual(listCookieValues(left, 'x'), others);
      }),
    );
  });
});
