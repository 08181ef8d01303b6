import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reservedClaims } from './identity-rules.ts';
import { readClaims, readNames } from './read-claims.ts';

const members = { login: 'ada', groups: ['a', 'b'], address: { country: 'GB' }, sub: '1', admin: true, none: null };

function read(mapping: Readonly<Record<string, string>>, from: Readonly<Record<string, unknown>> = members) {
  const outcome = readClaims(new Map(Object.entries(mapping)), from);
  return outcome.kind === 'claims' ? outcome.claims : outcome;
}

test('claims from members, with dots into objects; absent ones give none', () => {
  assert.deepEqual(
    read({ preferred_username: 'login', groups: 'groups', country: 'address.country', a: 'admin', x: 'y', n: 'none' }),
    { preferred_username: 'ada', groups: ['a', 'b'], country: 'GB', a: true },
  );
});

test('registered claims never come out', () => {
  for (const name of reservedClaims) assert.deepEqual(read({ [name]: 'login' }), {}, name);
  assert.deepEqual(readClaims(new Map([['__proto__', 'address']]), members), { kind: 'claims', claims: {} });
});

test('members of the prototype are none', () => {
  assert.deepEqual(read({ a: 'constructor', b: 'toString', c: 'address.constructor' }), {});
});

test('what is too large is refused, not left out', () => {
  assert.equal(JSON.stringify(read({ x: 'x' }, { x: 'é'.repeat(2_047) })).length > 2_000, true);
  assert.deepEqual(read({ x: 'x' }, { x: 'é'.repeat(2_048) }), {
    kind: 'refused',
    reason: 'identity_invalid',
    detail:
      'the claim x would have 4098 bytes, and 4096 are the limit: take it out of tokens.claims and identity.claims, or map a smaller member',
  });
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`c${index}`, 'login']));
  assert.equal(read(many)['kind'], 'refused');
});

test('names are strings of a list, or one', () => {
  assert.deepEqual(readNames({ groups: ['a', 7, '', null, 'b'] }, 'groups'), ['a', 'b']);
  assert.deepEqual(readNames({ hd: 'example.com' }, 'hd'), ['example.com']);
  assert.deepEqual(readNames({ hd: '' }, 'hd'), []);
  assert.deepEqual(readNames({}, 'groups'), []);
  assert.deepEqual(readNames({ groups: { a: 1 } }, 'groups'), []);
});
