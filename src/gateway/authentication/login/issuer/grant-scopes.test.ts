import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileScopeGrants } from './grant-scopes.ts';

test('scopes are granted always, or when a condition over the claims holds', () => {
  const { scopes, grantScopes } = compileScopeGrants([
    { scopes: ['read'], when: '' },
    { scopes: ['write', 'read'], when: 'jwt.email.endsWith("@example.com")' },
    { scopes: ['admin'], when: '"admins" in jwt.groups' },
  ]);
  assert.deepEqual(scopes, ['read', 'write', 'admin']);
  assert.deepEqual([...grantScopes({ email: 'a@example.com', groups: [] })], ['read', 'write']);
  assert.deepEqual([...grantScopes({ email: 'a@elsewhere.example', groups: ['admins'] })], ['read', 'admin']);
});

test('a condition that cannot be evaluated grants nothing', () => {
  const { grantScopes } = compileScopeGrants([
    { scopes: ['a'], when: 'jwt.missing == "x"' },
    { scopes: ['b'], when: 'jwt.email.endsWith("x")' },
    { scopes: ['c'], when: 'jwt.flag' },
  ]);
  assert.deepEqual([...grantScopes({ email: 5, flag: 'true' })], []);
  assert.deepEqual([...grantScopes({ flag: true })], ['c']);
});

test('what is no condition over claims is refused, with its place', () => {
  for (const [when, problem] of [
    ['jwt.', /tokens\.scopes\[0\]\.when, line 1, column/],
    ['request.path == "/"', /tokens\.scopes\[0\]\.when/],
    ['mcp.method == "x"', /tokens\.scopes\[0\]\.when/],
    ['1 + 1', /not true or false/],
  ] as const)
    assert.throws(() => compileScopeGrants([{ scopes: ['a'], when }]), problem);
  assert.throws(() => compileScopeGrants([{ scopes: [], when: '' }]), /names no scopes/);
});
