import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainTokenRefusal } from './explain-token-refusal.ts';

const resource = 'https://mcp.example.com/mcp';
const wrongAudience = 'invalid_token: The token was issued for another audience.';

function explain(claims: Readonly<Record<string, unknown>> | undefined, said: string, clockMs = 0) {
  const token = { accessToken: 'x', claims, clockMs, clientId: 'mine', refreshToken: undefined };
  return explainTokenRefusal({ token, said, resource, serverClockMs: 0 });
}

const cases: readonly [
  name: string,
  claims: Readonly<Record<string, unknown>> | undefined,
  said: string,
  text: RegExp,
  advice: RegExp,
][] = [
  ['opaque', undefined, 'invalid_token', /opaque/, /JWT only when/],
  ['no aud', {}, wrongAudience, /has no aud/, /mcp\.example\.com\/mcp.*audience mapper/],
  ['another aud', { aud: ['account'] }, wrongAudience, /aud is \["account"\]/, /set audiences: \["account"\]/],
  [
    'aud is the client of the token',
    { aud: 'idp-client', azp: 'idp-client' },
    wrongAudience,
    /id of the client/,
    /Shared.*audiences: \[idp-client\].*flow: Issuer/,
  ],
  ['aud is this client', { aud: 'mine' }, wrongAudience, /id of the client/, /Shared.*audiences: \[mine\]/],
  [
    'aud is the resource',
    { aud: resource },
    wrongAudience,
    /audiences of the policy lists others/,
    /Add https:\/\/mcp/,
  ],
  [
    'another issuer',
    { iss: 'https://idp/' },
    'The token comes from another issuer.',
    /iss is "https:\/\/idp\/"/,
    /slash/,
  ],
  [
    'an unknown key, whose sentence has the word issuer',
    { iss: 'https://idp', aud: 'account' },
    'The token is signed with a key that its issuer does not publish.',
    /^The server does not verify it with the keys/,
    /metadataUrl and jwks/,
  ],
  ['a bad signature', { aud: 'account' }, 'The signature of the token is wrong.', /keys/, /check --online/],
  [
    'expired, clocks agree',
    { iat: 0, exp: 5 },
    'The token has expired.',
    /agree, as far as they show\. It lives 5 s\./,
    /long enough/,
  ],
  ['no reason, another aud', { aud: 'account' }, 'invalid_token', /not https:\/\/mcp/, /^If that is why/],
];

for (const [name, claims, said, text, advice] of cases) {
  test(`a refused token: ${name}`, () => {
    const found = explain(claims, said);
    assert.match(found?.text ?? '', text);
    assert.match(found?.advice ?? '', advice);
    assert.doesNotMatch(`${found?.text} ${found?.advice}`, /\.\./);
  });
}

test('a refused token: nothing to add where its audience is right and the server says nothing', () => {
  assert.equal(explain({ aud: resource }, 'invalid_token'), undefined);
  const said = 'invalid_token: The token lacks a claim that is required here.';
  assert.equal(explain({ aud: 'account' }, said), undefined, 'another cause');
});

test('a refused token: the clock that is off', () => {
  assert.match(
    explain({}, 'The token is not valid yet (nbf).', 300_000)?.text ?? '',
    /^The identity provider's clock is 5 min ahead/,
  );
});
