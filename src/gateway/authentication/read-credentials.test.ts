import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawHeaders } from '../http/exchange.ts';
import { checkCredentials, type Credentials, findCredentials } from './read-credentials.ts';

function readCredentials(headers: RawHeaders, query: string): Credentials {
  return checkCredentials(findCredentials(headers, query));
}

const read = (authorization: string, query = ''): string => {
  const found = readCredentials(['Authorization', authorization], query);
  return found.kind === 'bearer' ? `bearer ${found.token}` : found.kind;
};

describe('credentials', () => {
  test('finds the one bearer token', () => {
    assert.equal(read('Bearer abc.def-_~+/=='), 'bearer abc.def-_~+/==');
    assert.equal(read('bearer   abc'), 'bearer abc');
    assert.equal(read('BEARER abc '), 'bearer abc');
  });

  test('takes another scheme for nothing', () => {
    assert.deepEqual(readCredentials([], ''), { kind: 'none' });
    for (const text of ['Basic YTpi', 'Bearerabc', 'Token abc', '', 'DPoP abc']) assert.equal(read(text), 'none', text);
  });

  test('knows a Bearer without a token', () => {
    for (const text of ['Bearer', 'Bearer ', 'Bearer "abc"', 'Bearer a=b', 'Bearer ä', 'Bearer ===='])
      assert.equal(read(text), 'malformed', text);
  });

  test('refuses to choose', () => {
    for (const text of ['Bearer a b', 'Bearer a, Bearer b', 'Bearer a,b']) assert.equal(read(text), 'ambiguous', text);
    assert.equal(readCredentials(['authorization', 'Bearer a', 'AUTHORIZATION', 'Bearer a'], '').kind, 'ambiguous');
    assert.equal(readCredentials(['authorization', 'Bearer a', 'Authorization', 'Basic b'], '').kind, 'ambiguous');
  });

  test('finds a token in the query, however it is spelled', () => {
    for (const query of ['?access_token=a', '?x=1&access_token=', '?%61ccess_token=a', '?access%5Ftoken=a'])
      assert.equal(readCredentials([], query).kind, 'ambiguous', query);
    assert.equal(read('Bearer a', '?access_token=b'), 'ambiguous');
    for (const query of ['', '?', '?token=a', '?x=access_token', '?access_tokens=a', '?a=%20'])
      assert.equal(readCredentials([], query).kind, 'none', query);
  });
});
