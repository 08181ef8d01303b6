import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyUser } from '../config/runtime-config.ts';
import type { KeyHealth } from './token/key-health.ts';
import { listKeyProblems } from './key-problems.ts';

const mcp = (policy: string, issuer: string, keyHealth?: KeyHealth): KeyUser =>
  ({ policy, kind: 'backend.mcp.authentication', config: { idp: { issuer, keyHealth } } }) as unknown as KeyUser;
const jwt = (policy: string, providers: Record<string, KeyHealth>): KeyUser =>
  ({
    policy,
    kind: 'traffic.jwtAuthentication',
    config: { providers: new Map(Object.entries(providers).map(([issuer, keyHealth]) => [issuer, { keyHealth }])) },
  }) as unknown as KeyUser;

test('every policy and issuer in trouble is listed, and every source asked once', () => {
  let asked = 0;
  const down: KeyHealth = {
    findTrouble() {
      asked += 1;
      return { reason: 'down', hasNone: true };
    },
  };
  const well: KeyHealth = { findTrouble: () => undefined };
  const stale: KeyHealth = { findTrouble: () => ({ reason: 'answers 500', hasNone: false }) };
  assert.deepEqual(
    listKeyProblems([
      jwt('n/z', { 'https://b': down, 'https://a': stale, 'https://c': well }),
      mcp('n/a', 'https://b', down),
      mcp('n/b', 'https://c', well),
      mcp('n/c', 'https://nobody'),
    ]),
    [
      { policy: 'n/a', issuer: 'https://b', reason: 'down', hasNone: true },
      { policy: 'n/z', issuer: 'https://a', reason: 'answers 500', hasNone: false },
      { policy: 'n/z', issuer: 'https://b', reason: 'down', hasNone: true },
    ],
  );
  assert.equal(asked, 1);
});

test('a policy whose tokens the gateway issues does not wait for the keys of the identity provider', () => {
  const down: KeyHealth = { findTrouble: () => ({ reason: 'down', hasNone: true }) };
  const user = mcp('n/a', 'https://b', down);
  assert.equal(listKeyProblems([user]).length, 1);
  assert.deepEqual(listKeyProblems([{ ...user, config: { ...user.config, issuer: {} } } as never]), []);
});
