// Known failures of token checks, one test per lesson, where JWT authentication guards a route.
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { forgeToken, signAs, signWithSecret } from '../kit/forge-token.ts';
import { listTools } from '../idp/flow-client.ts';
import { startSwitchableServer, type SwitchableServer } from '../idp/switchable-server.ts';
import { createIssuer, nowSeconds, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { type GuardedGateway, routePolicy, startGuardedGateway } from './guarded-gateway.ts';

// The same kid at both, and no alg in the keys: as confusing as providers can be.
const audience = 'https://mcp.example.com';
const one = createIssuer('https://one.example.com', { audience, kid: 'same' });
const two = createIssuer('https://two.example.com', { audience, kid: 'same' });
const remote = createIssuer('https://remote.example.com', { audience, algorithm: 'ES256', kid: 'remote' });
let keyServer: SwitchableServer;
let keysAreThere = false;
let guarded: GuardedGateway;

before(async () => {
  keyServer = await startSwitchableServer(() => (_request, response) => {
    if (keysAreThere) response.end(remote.jwks);
    else response.writeHead(500).end('broken');
  });
  const claimsToHeaders = [
    { claim: 'sub', header: 'x-auth-subject' },
    { claim: 'iss', header: 'x-auth-issuer' },
    { claim: 'team.name', header: 'x-auth-team' },
  ];
  guarded = await startGuardedGateway({
    routes: ['a', 'b', 'dots', 'keys'],
    policies: [
      routePolicy('a', {
        jwtAuthentication: { providers: [providerOf('one', one), providerOf('two', two)], claimsToHeaders },
      }),
      routePolicy('b', {
        jwtAuthentication: { providers: [providerOf('one', one, { audiences: ['https://b.example.com'] })] },
      }),
      routePolicy('dots', {
        jwtAuthentication: {
          providers: [providerOf('one', one, { requiredClaims: { 'team.name': 'blue' } })],
          claimsToHeaders,
        },
      }),
      routePolicy('keys', {
        jwtAuthentication: {
          providers: [
            providerOf('remote', remote, { jwks: { url: `${keyServer.origin}/keys`, cacheDuration: '1s' } }),
            providerOf('two', two),
          ],
        },
      }),
    ],
  });
});
after(async () => {
  await guarded?.close();
  await keyServer?.close();
});
beforeEach(() => guarded.upstream.forget());

async function assertInvalid(token: string, reason: string, what = reason, path = '/a'): Promise<void> {
  guarded.upstream.forget();
  const answer = await guarded.post(path, token, listTools);
  guarded.assertRefused(answer, 401, reason, what);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer error="invalid_token"/, what);
}

async function assertAccepted(token: string, path = '/a'): Promise<void> {
  const answer = await guarded.post(path, token, listTools);
  assert.equal(answer.status, 200, answer.body);
}

test('header alg trusted (CVE-2026-22817): HS256 signed with the public key is refused, though the JWK has no alg', async () => {
  const key = createPublicKey({ key: one.key.publicJwk, format: 'jwk' });
  const secrets = [
    key.export({ type: 'spki', format: 'pem' }),
    key.export({ type: 'pkcs1', format: 'pem' }),
    key.export({ type: 'spki', format: 'der' }),
    JSON.stringify(one.key.publicJwk),
    one.key.publicJwk.n!,
  ];
  const claims = { iss: one.issuer, aud: audience, sub: 'root', exp: nowSeconds() + 60 };
  for (const secret of secrets) {
    const header = { alg: 'HS256', kid: 'same' };
    await assertInvalid(
      forgeToken({ header, claims, signer: signWithSecret('sha256', secret) }),
      'token_unsupported_algorithm',
    );
  }
  const unsigned = forgeToken({ header: { alg: 'none' }, claims, signer: () => Buffer.alloc(0) });
  await assertInvalid(unsigned, 'token_unsupported_algorithm');
});

test('`crit` ignored (CVE-2026-35042): unknown crit is refused', async () => {
  const token = forgeToken({
    header: { alg: 'RS256', kid: 'same', crit: ['x-bound-to'], 'x-bound-to': 'somebody else' },
    claims: { iss: one.issuer, aud: audience, sub: 'alice', exp: nowSeconds() + 60 },
    signer: signAs('RS256', one.key.privateKey),
  });
  await assertInvalid(token, 'token_unsupported_header');
});

test('cache collision (CVE-2026-35039): concurrent tokens of the same issuer and audience keep distinct claims', async () => {
  const users = Array.from({ length: 200 }, (_, index) => ({
    provider: index % 2 === 0 ? one : two,
    sub: `user-${index >> 1}`,
  }));
  const tokens = await Promise.all(
    users.map(({ provider, sub }) => provider.sign({ sub, team: { name: `team of ${sub}` } })),
  );
  for (const round of ['first seen', 'remembered']) {
    guarded.upstream.forget();
    const answers = await Promise.all(
      tokens.map((token, index) => guarded.post('/a', token, { ...listTools, id: index })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]), round);
    assert.equal(guarded.upstream.requests.length, users.length);
    for (const request of guarded.upstream.requests) {
      const { provider, sub } = users[(JSON.parse(request.body) as { id: number }).id]!;
      assert.deepEqual(request.all('x-auth-subject'), [sub], round);
      assert.deepEqual(request.all('x-auth-issuer'), [provider.issuer], round);
      assert.deepEqual(request.all('x-auth-team'), [`team of ${sub}`], round);
    }
  }
});

test('keys with the same kid in two providers: neither vouches for tokens of the other', async () => {
  await assertInvalid(await one.sign({ iss: two.issuer }), 'token_bad_signature');
  await assertInvalid(await two.sign({ iss: one.issuer }), 'token_bad_signature');
  await assertInvalid(await two.sign({ iss: 'https://three.example.com' }), 'token_wrong_issuer');
  await assertAccepted(await one.sign());
  await assertAccepted(await two.sign());
});

describe('`aud` unchecked', () => {
  for (const [name, aud] of Object.entries({
    wrong: 'https://other.example.com',
    missing: undefined,
    'an array without it': ['https://other.example.com'],
    'an object': { [audience]: true },
    'several in one text': `${audience} https://other.example.com`,
  })) {
    test(`${name} -> 401`, async () => assertInvalid(await one.sign({ aud }), 'token_wrong_audience'));
  }
  test('an array with it -> accepted', async () => assertAccepted(await one.sign({ aud: ['x', audience] })));

  test('a token that is valid on one route is invalid on another, in any order of requests', async () => {
    const forA = await one.sign();
    const forB = await one.sign({ aud: 'https://b.example.com' });
    for (let round = 0; round < 2; round += 1) {
      await assertAccepted(forA, '/a');
      await assertInvalid(forA, 'token_wrong_audience', 'a at b', '/b');
      await assertAccepted(forB, '/b');
      await assertInvalid(forB, 'token_wrong_audience', 'b at a', '/a');
    }
  });
});

test('token presence accepted (CVE-2022-29226): `Bearer x` is 401', async () => {
  const good = await one.sign();
  for (const token of ['x', 'x.y.z', 'null', 'undefined', 'eyJhbGciOiJSUzI1NiJ9', '..', good.slice(0, -5)]) {
    const answer = await guarded.post('/a', token, listTools);
    assert.equal(answer.status, 401, token);
  }
  for (const authorization of ['Bearer', 'Bearer ', 'bearer', 'Basic YTpi', 'Digest x', 'Negotiate', good]) {
    const answer = await guarded.post('/a', undefined, listTools, { authorization });
    assert.equal(answer.status, 401, authorization);
  }
  assert.equal(guarded.upstream.headCount, 0);
});

test('`.` as a regex (CVE-2026-39350): the claim team.name is not the claim teamXname', async () => {
  for (const claims of [
    { teamXname: 'blue' },
    { team_name: 'blue' },
    { team: 'blue' },
    { team: { nameX: 'blue' } },
    { team: { name: 'blueX' } },
  ]) {
    await assertInvalid(await one.sign(claims), 'token_missing_claim', JSON.stringify(claims), '/dots');
    guarded.upstream.forget();
    await assertAccepted(await one.sign({ ...claims, ...('team' in claims ? { team: undefined } : {}) }), '/a');
    assert.deepEqual(guarded.upstream.requests[0]!.all('x-auth-team'), [], 'nor does it become a header');
  }
  guarded.upstream.forget();
  await assertAccepted(await one.sign({ team: { name: 'blue' } }), '/dots');
  await assertAccepted(await one.sign({ 'team.name': 'blue' }), '/dots');
  assert.deepEqual(
    guarded.upstream.requests.map((request) => request.all('x-auth-team')),
    [['blue'], ['blue']],
  );
});

test('JWKS failure opens the door (CVE-2026-31837): down from the start 503, later the last good keys', async () => {
  const token = await remote.sign();
  const closed = await guarded.post('/keys', token, listTools);
  guarded.assertRefused(closed, 503, 'keys_unavailable');
  assert.ok(Number(closed.headers['retry-after']) >= 1);
  // Only its own tokens: whoever else has keys is judged by them, and rubbish is rubbish.
  await assertAccepted(await two.sign(), '/keys');
  await assertInvalid('x.y.z', 'token_malformed', 'rubbish', '/keys');
  guarded.upstream.forget();
  guarded.assertRefused(
    await guarded.post('/keys', await two.sign({ iss: remote.issuer }), listTools),
    503,
    'keys_unavailable',
  );

  keysAreThere = true;
  await waitFor(async () => (await guarded.post('/keys', token, listTools)).status === 200);
  keysAreThere = false;
  keyServer.forget();
  await waitFor(() => keyServer.calls.some(({ status }) => status === 500));
  await assertAccepted(token, '/keys');
  await assertAccepted(await remote.sign({ jti: 'not seen before' }), '/keys');
  await assertInvalid(await two.sign({ iss: remote.issuer }), 'token_unknown_key', 'forged', '/keys');
});
