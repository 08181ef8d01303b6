import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeClocks, readWrittenAt } from './clocks.ts';

const minute = 60_000;

const cases: readonly [
  name: string,
  idpMs: number | undefined,
  serverMs: number | undefined,
  said: RegExp | undefined,
][] = [
  ['all agree', 3_000, -2_000, undefined],
  ['nothing is known', undefined, undefined, undefined],
  [
    "the identity provider's is ahead",
    10 * minute,
    0,
    /^The identity provider's clock is 10 min ahead of those of the server and this machine/,
  ],
  [
    "the identity provider's is behind",
    -3 * minute,
    1_000,
    /^The identity provider's clock is 3 min behind those of the server and this machine/,
  ],
  [
    "the server's is ahead",
    0,
    5 * minute,
    /^The server's clock is 5 min ahead of those of the identity provider and this machine/,
  ],
  ["the server's is behind", 0, -90_000, /^The server's clock is 90 s behind those of the identity provider/],
  [
    "this machine's is behind",
    10 * minute,
    10 * minute + 2_000,
    /^This machine's clock is 10 min behind those of the identity provider and the server/,
  ],
  ["this machine's is ahead", -4 * minute, -4 * minute, /^This machine's clock is 4 min ahead of those/],
  [
    'all differ',
    10 * minute,
    -10 * minute,
    /^No two clocks agree: the identity provider's is 10 min ahead of this machine's, and the server's is 10 min behind it/,
  ],
  [
    'the server tells no time',
    10 * minute,
    undefined,
    /^The identity provider's clock is 10 min ahead of this machine's\. The server does not tell/,
  ],
  [
    'the token tells no time',
    undefined,
    10 * minute,
    /^The server's clock is 10 min ahead of this machine's\. The token does not tell/,
  ],
];

for (const [name, idpMs, serverMs, said] of cases) {
  test(`clocks: ${name}`, () => {
    const judged = judgeClocks({ idpMs, serverMs });
    if (said === undefined) assert.equal(judged, undefined);
    else {
      assert.match(judged?.text ?? '', said);
      assert.notEqual(judged?.advice, '');
      assert.doesNotMatch(`${judged?.text} ${judged?.advice}`, /\.\./);
    }
  });
}

test('when a token was written: iat, or exp without the lifetime', () => {
  assert.equal(readWrittenAt({ iat: 100, exp: 900 }, 60), 100_000);
  assert.equal(readWrittenAt({ exp: 900 }, 600), 300_000);
  assert.equal(readWrittenAt({ exp: 900 }, undefined), undefined);
});
