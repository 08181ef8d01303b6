import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ClaimFlags, readClaimFlags } from './read-claim-flags.ts';

const none: ClaimFlags = { sub: undefined, aud: [], scope: undefined, claim: [], file: undefined };

function claimsOf(flags: Partial<ClaimFlags>): unknown {
  const read = readClaimFlags({ ...none, ...flags });
  return read.ok ? read.claims : read.problems;
}

describe('claims of a test token', () => {
  test('come from flags, then from the file, and somebody is always meant', () => {
    assert.deepEqual(claimsOf({}), { sub: 'test-user' });
    assert.deepEqual(claimsOf({ file: '{"sub": "bob", "level": 1}', claim: ['level=2'] }), { sub: 'bob', level: 2 });
    assert.deepEqual(claimsOf({ sub: 'alice', file: '{"sub": "bob"}' }), { sub: 'alice' });
    assert.deepEqual(claimsOf({ aud: ['a'], scope: 'x y' }), { sub: 'test-user', aud: 'a', scope: 'x y' });
    assert.deepEqual(claimsOf({ aud: ['a', 'b'] }), { sub: 'test-user', aud: ['a', 'b'] });
  });

  test('are JSON where they are JSON', () => {
    const claim = ['a=1', 'b=true', 'c=["x",{"y":null}]', 'd="1"', 'e=blue', 'f=', 'g=a=b', 'h={oops', 'realm.role=x'];
    assert.deepEqual(claimsOf({ claim }), {
      sub: 'test-user',
      a: 1,
      b: true,
      c: ['x', { y: null }],
      d: '1',
      e: 'blue',
      f: '',
      g: 'a=b',
      h: '{oops',
      'realm.role': 'x',
    });
  });

  test('cannot be what makes it a test token', () => {
    assert.deepEqual(claimsOf({ claim: ['iss=https://idp.example', 'exp=9999999999'], file: '{"nbf": 0, "iat": 0}' }), [
      '--claim cannot set iss: it says that this is a test token',
      '--claim cannot set exp: --lifetime sets it',
      '--claims cannot set iat: it is the present time; take it out of the file',
      '--claims cannot set nbf: it is the present time; take it out of the file',
    ]);
  });

  test('say what is wrong with them', () => {
    assert.deepEqual(claimsOf({ claim: ['x', '=y', 'a=1', 'a=2', 'sub=bob'], sub: 'alice', file: '[]' }), [
      '--claims must name a file with one JSON object, such as {"sub": "alice", "groups": ["staff"]}',
      '--claim must be NAME=VALUE, such as --claim team=blue, not "x"',
      '--claim must be NAME=VALUE, such as --claim team=blue, not "=y"',
      `--claim has a twice; for a list write --claim 'a=["a","b"]'`,
      '--sub and --claim sub=... are the same; use one of them',
    ]);
  });
});
