import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DescribedIssuedTokens, formatIssuedTokens } from './describe-issued-tokens.ts';

const tokens: DescribedIssuedTokens = {
  keys: ['k1', 'k2'],
  activeKey: 'k1',
  lifetimeSeconds: 900,
  refreshLifetimeSeconds: 2_592_000,
  sessionsInStore: true,
};

const cases: readonly [name: string, changes: Partial<DescribedIssuedTokens>, said: string][] = [
  [
    'a key that is on its way',
    {},
    'tokens for 15 min, renewed until 30 days after the login; signed with key k1, also accepted: k2; sessions in the store',
  ],
  [
    'one key, without refresh and store',
    { keys: ['k1'], refreshLifetimeSeconds: 0, sessionsInStore: false },
    'tokens for 15 min, not renewed; signed with key k1; sessions in refresh tokens, without a store',
  ],
  [
    'no key signs yet',
    { keys: ['k1'], activeKey: null },
    'tokens for 15 min, renewed until 30 days after the login; no key signs yet, also accepted: k1; sessions in the store',
  ],
  [
    'no keys',
    { keys: [], activeKey: null },
    'tokens for 15 min, renewed until 30 days after the login; no signing key: requests are answered 503; sessions in the store',
  ],
];

for (const [name, changes, said] of cases)
  test(`issued tokens: ${name}`, () => assert.equal(formatIssuedTokens({ ...tokens, ...changes }), said));
