import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { findUnsendableHeader } from '../http/headers.ts';
import { formatClaimHeaders, listClaimHeaders } from './claims-to-headers.ts';
import { anyText } from '../../../test/kit/any-text.ts';

const format = (claims: Record<string, unknown>, claim = 'c'): string | undefined =>
  formatClaimHeaders(claims, [{ claim, header: 'x-c' }])[1];

test('texts, numbers and booleans go as they are, lists with commas', () => {
  assert.deepEqual(
    formatClaimHeaders({ sub: 'alice', n: 7, ok: true, groups: ['a', 'b', 3] }, [
      { claim: 'sub', header: 'X-Auth-Subject' },
      { claim: 'n', header: 'x-n' },
      { claim: 'ok', header: 'x-ok' },
      { claim: 'groups', header: 'x-groups' },
    ]),
    ['X-Auth-Subject', 'alice', 'x-n', '7', 'x-ok', 'true', 'x-groups', 'a,b,3'],
  );
});

test('a dot reaches into objects, and the exact name wins', () => {
  assert.equal(format({ realm_access: { roles: ['admin'] } }, 'realm_access.roles'), 'admin');
  assert.equal(format({ 'https://a.example/role': 'x' }, 'https://a.example/role'), 'x');
});

test('what is absent or no plain value gives no header', () => {
  for (const value of [undefined, null, {}, [{}], [['a']], [null]]) assert.equal(format({ c: value }), undefined);
  assert.equal(format(Object.create({ c: 'inherited' }) as Record<string, unknown>), undefined);
});

test('nothing breaks out of its line, and everything can be decoded', () => {
  assert.equal(format({ c: 'a\r\nx-admin: 1' }), 'a%0D%0Ax-admin: 1');
  assert.equal(format({ c: '50% é' }), '50%25 %C3%A9');
  assert.equal(format({ c: ['a,b', 'c'] }), 'a%2Cb,c');
  fc.assert(
    fc.property(anyText(), (text) => {
      const value = format({ c: text })!;
      assert.equal(findUnsendableHeader(['x-c', value]), undefined);
      assert.equal(value, value.trim(), 'nothing that readers of headers drop');
      assert.equal(decodeURIComponent(value), text.toWellFormed());
    }),
  );
});

test('no two users become the same one', () => {
  assert.equal(format({ c: ' admin' }), '%20admin');
  assert.equal(format({ c: 'admin  ' }), 'admin%20%20');
  assert.equal(format({ c: ['a ', ' b c'] }), 'a%20,%20b c');
  // Read as a number, both are 9007199254740992.
  for (const text of ['9007199254740992', '9007199254740993', '1e400', '-1e400'])
    assert.equal(format(JSON.parse(`{"c":${text}}`) as Record<string, unknown>), undefined, text);
  assert.equal(format({ c: 9_007_199_254_740_991 }), '9007199254740991');
  assert.equal(format({ c: 0.5 }), '0.5');
});

test('names of headers that clients must not send are compared without case and underscores', () => {
  assert.deepEqual(listClaimHeaders([{ header: 'X_Auth-Subject' }]), ['x-auth-subject']);
});
