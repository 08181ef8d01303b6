import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  bearerHeader,
  checkTokenText,
  describeLocation,
  findToken,
  hasQueryToken,
  isBearerHeader,
  type TokenLocation,
} from './find-token.ts';

function find(location: TokenLocation, headers: readonly string[], query = ''): string {
  const found = findToken(headers, query, location);
  return found.kind === 'text' ? `text ${found.text}` : found.kind;
}

describe('in a header', () => {
  const plain = { kind: 'header', name: 'x-token', prefix: '' } as const;
  const prefixed = { kind: 'header', name: 'x-token', prefix: 'token:' } as const;

  test('a scheme is compared without regard to case, and may have several spaces behind it', () => {
    for (const value of ['Bearer abc', 'bearer abc', 'BEARER   abc', ' Bearer abc '])
      assert.equal(find(bearerHeader, ['AUTHORIZATION', value]), 'text abc', value);
    for (const value of ['Basic abc', 'Bearerabc', 'abc', '', 'JWT abc'])
      assert.equal(find(bearerHeader, ['authorization', value]), 'none', value);
    for (const value of ['Bearer', 'bearer  ', 'Bearer\tabc'])
      assert.equal(find(bearerHeader, ['authorization', value]), 'malformed', value);
    const other = { ...bearerHeader, prefix: 'JWT ' };
    assert.equal(find(other, ['authorization', 'jwt abc']), 'text abc');
    assert.equal(find(other, ['authorization', 'Bearer abc']), 'none');
  });

  test('something else in its place is told, but not what it is', () => {
    const other = { kind: 'none', detail: 'the Authorization header has another scheme' };
    assert.deepEqual(findToken(['authorization', 'Basic S3CRET'], '', bearerHeader), other);
    for (const headers of [[], ['authorization', ' ']])
      assert.deepEqual(findToken(headers, '', bearerHeader), { kind: 'none' });
    const detail = 'the header of the token has another prefix';
    assert.deepEqual(findToken(['x-token', 'S3CRET'], '', prefixed), { kind: 'none', detail });
  });

  test('any other prefix is exact', () => {
    assert.equal(find(prefixed, ['X-Token', 'token:abc']), 'text abc');
    assert.equal(find(prefixed, ['X-Token', 'token: abc']), 'text abc');
    for (const value of ['Token:abc', 'TOKEN:abc', 'abc', 'token abc'])
      assert.equal(find(prefixed, ['x-token', value]), 'none', value);
    assert.equal(find(prefixed, ['x-token', 'token:']), 'malformed');
  });

  test('without a prefix it is the whole value', () => {
    assert.equal(find(plain, ['x-token', ' abc ']), 'text abc');
    assert.equal(find(plain, ['x-token', 'Bearer abc']), 'text Bearer abc');
    assert.equal(find(plain, ['x-token', '']), 'malformed');
    assert.equal(find(plain, ['X_Token', 'abc', 'authorization', 'Bearer abc']), 'none');
  });

  test('two fields are one too many, equal or not', () => {
    for (const second of ['Bearer a', 'Bearer b', 'Basic c', ''])
      assert.equal(find(bearerHeader, ['authorization', 'Bearer a', 'Authorization', second]), 'ambiguous');
    assert.equal(find(plain, ['x-token', 'a', 'X-TOKEN', 'a']), 'ambiguous');
  });
});

describe('in a cookie or in the query', () => {
  const cookie = { kind: 'cookie', name: 'session' } as const;
  const parameter = { kind: 'queryParameter', name: 'jwt' } as const;

  test('only there', () => {
    const headers = ['authorization', 'Bearer a', 'cookie', 'x=1; session=b'];
    assert.equal(find(cookie, headers, '?jwt=c'), 'text b');
    assert.equal(find(parameter, headers, '?jwt=c'), 'text c');
    assert.equal(find(cookie, ['authorization', 'Bearer a'], '?session=c'), 'none');
    assert.equal(find(parameter, headers, '?x=jwt'), 'none');
  });

  test('once', () => {
    assert.equal(find(cookie, ['cookie', 'session=a; session=a']), 'ambiguous');
    assert.equal(find(parameter, [], '?jwt=a&jw%74=a'), 'ambiguous');
  });

  test('an empty one is no token, and is not no place for one', () => {
    assert.equal(find(cookie, ['cookie', 'session=']), 'malformed');
    assert.equal(find(parameter, [], '?jwt'), 'malformed');
  });
});

test('what could be a token', () => {
  const kindOf = (text: string): string | undefined => checkTokenText(text, bearerHeader)?.kind;
  for (const text of ['abc', 'a.b.c', 'A-Z_~+/09==']) assert.equal(kindOf(text), undefined, text);
  for (const text of ['a b', 'a,b', 'a, Bearer b', ',a', 'a\tb']) assert.equal(kindOf(text), 'ambiguous', text);
  for (const text of ['"a"', 'a=b', 'ä', '===', 'a;b']) assert.equal(kindOf(text), 'malformed', text);
});

test('an access token in the query, however it is spelled', () => {
  for (const query of ['?access_token=a', '?x&access_token', '?%61ccess_token=a', '?access%5Ftoken=a'])
    assert.ok(hasQueryToken(query), query);
  for (const query of [
    '',
    '?',
    '?token=a',
    '?x=access_token',
    '?access_tokens=a',
    '?access-token=a',
    '?ACCESS_TOKEN=a',
  ])
    assert.ok(!hasQueryToken(query), query);
});

test('places have names', () => {
  assert.equal(describeLocation(bearerHeader), 'the Authorization header');
  assert.equal(describeLocation({ kind: 'header', name: 'x-token', prefix: '' }), 'the header x-token');
  assert.equal(describeLocation({ kind: 'cookie', name: 'session' }), 'the cookie session');
  assert.equal(describeLocation({ kind: 'queryParameter', name: 'jwt' }), 'the query parameter jwt');
  assert.ok(isBearerHeader(bearerHeader) && isBearerHeader({ ...bearerHeader, prefix: 'BEARER ' }));
  assert.ok(
    !isBearerHeader({ ...bearerHeader, prefix: 'JWT ' }) && !isBearerHeader({ kind: 'cookie', name: 'authorization' }),
  );
});
