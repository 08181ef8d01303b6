// Known failures of token checks and session binding, one test per lesson, through a real gateway.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { SignJWT } from 'jose';
import { startQuirky } from '../idp/auth-setups.ts';
import { type FlowAnswer, listTools, postMcp } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { createSigningKey } from '../idp/signing-keys.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, readAnswers } from './wire-client.ts';

let idp: QuirkyIdp;
let upstream: RecordingUpstream;
let gateway: ProtectedGateway;
let a: string;
let b: string;

before(async () => {
  const started = await startQuirky({}, {});
  idp = started.quirky;
  upstream = await startMcpUpstream();
  const claims = { claimsToHeaders: [{ claim: 'sub', header: 'x-auth-subject' }] };
  gateway = await startProtectedGateway({
    backends: [
      { path: '/a', port: upstream.port, authentication: { ...started.authentication, ...claims } },
      { path: '/b', port: upstream.port, authentication: { ...started.authentication, ...claims } },
    ],
  });
  a = gateway.urlOf('/a');
  b = gateway.urlOf('/b');
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
  await upstream?.close();
});
beforeEach(() => upstream.forget());

const now = (): number => Math.floor(Date.now() / 1_000);
const goodClaims = (): Record<string, unknown> => ({
  iss: idp.issuer,
  sub: 'alice',
  aud: a,
  iat: now(),
  exp: now() + 600,
  scope: 'tickets:read',
});
const post = (
  token: string,
  url = a,
  headers: Record<string, string> = {},
  message: object = listTools,
): Promise<FlowAnswer> => postMcp(url, message, { authorization: `Bearer ${token}`, ...headers });

/** 401, and the upstream saw nothing. */
async function assertRefused(token: string, what = ''): Promise<void> {
  upstream.forget();
  const answer = await post(token);
  assert.equal(answer.status, 401, `${what}: ${answer.body}`);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer error="invalid_token"/, what);
  assert.equal(answer.body.includes(token.slice(0, 40)) && token.length > 40, false, 'never the token');
  assert.equal(upstream.headCount, 0, what);
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('`resource` ignored (CVE-2025-69196): a token for /a is rejected at /b', async () => {
  const token = await idp.issueAccessToken({ resource: a });
  assert.equal((await post(token, a)).status, 200);
  assert.equal((await post(token, b)).status, 401);
  // Once more, in the other order: no cache remembers it as good.
  assert.equal((await post(await idp.issueAccessToken({ resource: b }), a)).status, 401);
});

test('header alg trusted (CVE-2026-22817): HS256 signed with the public key is rejected, also when the JWK has no alg', async () => {
  const { publicJwk, kid } = idp.state.keys[0]!;
  const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' });
  for (const keysWithoutAlg of [false, true]) {
    idp.quirks.keysWithoutAlg = keysWithoutAlg;
    const secrets = [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
      publicKey.export({ type: 'pkcs1', format: 'pem' }),
      JSON.stringify(publicJwk),
      publicJwk.n!,
    ];
    for (const secret of secrets) {
      for (const [alg, digest] of [
        ['HS256', 'sha256'],
        ['HS512', 'sha512'],
      ] as const) {
        const signed = `${encode({ alg, typ: 'at+jwt', kid })}.${encode(goodClaims())}`;
        await assertRefused(`${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`);
      }
    }
  }
  idp.quirks.keysWithoutAlg = false;
});

test('alg none is rejected, however it is spelled', async () => {
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, 0, ['RS256']]) {
    await assertRefused(`${encode({ alg, typ: 'JWT' })}.${encode(goodClaims())}.`, String(alg));
    await assertRefused(`${encode({ alg })}.${encode(goodClaims())}.AAAA`, String(alg));
  }
});

test('keys in the token itself are ignored: jwk, jku, x5u, x5c', async () => {
  const own = await createSigningKey('RS256', 'mine');
  const claims = goodClaims();
  for (const header of [
    { jwk: own.publicJwk },
    { jku: `${idp.issuer}/jwks` },
    { x5u: 'https://evil.example/' },
    { x5c: ['AAAA'] },
    { jwk: own.publicJwk, kid: idp.state.keys[0]!.kid },
  ]) {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(own.privateKey);
    await assertRefused(token, JSON.stringify(header));
  }
});

test('`crit` ignored (CVE-2026-35042): unknown crit is rejected', async () => {
  const { privateKey, kid } = idp.state.keys[0]!;
  for (const header of [
    { crit: ['exp'], exp: 1 },
    { crit: ['x-mine'], 'x-mine': true },
  ]) {
    const token = await new SignJWT(goodClaims())
      .setProtectedHeader({ alg: 'RS256', kid, ...header })
      .sign(privateKey, { crit: { exp: true, 'x-mine': true } });
    await assertRefused(token, JSON.stringify(header));
  }
});

test('cache collision (CVE-2026-35039): concurrent tokens of the same issuer and audience keep distinct claims', async () => {
  const users = Array.from({ length: 200 }, (_, index) => `user-${index}`);
  const tokens = await Promise.all(users.map((user) => idp.issueAccessToken({ user, resource: a })));
  for (const round of [1, 2]) {
    upstream.forget();
    const answers = await Promise.all(tokens.map((token, index) => post(token, a, {}, { ...listTools, id: index })));
    assert.ok(
      answers.every(({ status }) => status === 200),
      `round ${round}`,
    );
    for (const request of upstream.requests) {
      const { id } = JSON.parse(request.body) as { id: number };
      assert.deepEqual(request.all('x-auth-subject'), [users[id]]);
    }
    assert.equal(upstream.requests.length, users.length);
  }
});

describe('`aud` unchecked: wrong, missing, array', () => {
  const wrong: Record<string, unknown> = {
    wrong: 'https://other.example/',
    missing: undefined,
    empty: '',
    'an empty array': [],
    'an array without it': ['https://other.example/', 'b'],
    'in one string with others': () => `${a} https://other.example/`,
    'a prefix': () => a.slice(0, -1),
    longer: () => `${a}/more`,
    'in another case': () => a.toUpperCase(),
    'the gateway without the path': () => new URL(a).origin,
    'a number': 1,
    'an object': () => ({ [a]: a }),
    'an array in an array': () => [[a]],
  };
  for (const [name, value] of Object.entries(wrong)) {
    test(`${name} -> 401`, async () => {
      const aud: unknown = typeof value === 'function' ? (value as () => unknown)() : value;
      await assertRefused(await idp.sign({ ...goodClaims(), aud }), name);
    });
  }
  test('an array with it -> accepted', async () => {
    assert.equal((await post(await idp.sign({ ...goodClaims(), aud: ['https://other.example/', a] }))).status, 200);
  });
});

describe('every other claim', () => {
  const wrong: Record<string, Record<string, unknown>> = {
    'another issuer': { iss: 'https://evil.example' },
    'the issuer with a slash': { iss: 'slash' },
    'no issuer': { iss: undefined },
    expired: { exp: 1 },
    'no exp': { exp: undefined },
    'exp as text': { exp: '99999999999' },
    'not yet valid': { nbf: 99_999_999_999 },
    'issued in the future': { iat: 99_999_999_999 },
    'an ID token by its typ claim': { typ: 'ID' },
    'an ID token by c_hash': { c_hash: 'AAAA' },
  };
  for (const [name, changes] of Object.entries(wrong)) {
    test(`${name} -> 401`, async () => {
      const claims: Record<string, unknown> = { ...goodClaims(), ...changes };
      if (claims['iss'] === 'slash') claims['iss'] = `${idp.issuer}/`;
      await assertRefused(await idp.sign(claims), name);
    });
  }
});

test('token presence accepted (CVE-2022-29226): `Bearer x` is 401', async () => {
  for (const token of [
    'x',
    'x.y.z',
    '..',
    'null',
    'undefined',
    encode({}),
    `${encode({ alg: 'RS256' })}.${encode(goodClaims())}.`,
  ]) {
    await assertRefused(token, token);
  }
  for (const authorization of ['Bearer', 'Bearer ', 'Basic YTpi', 'bearer', 'Digest x', 'x']) {
    const answer = await postMcp(a, listTools, { authorization });
    assert.equal(answer.status, 401, authorization);
  }
  assert.equal(upstream.headCount, 0);
});

test('any mutated byte of a token is rejected', async () => {
  const token = await idp.issueAccessToken({ resource: a });
  const dots = new Set([token.indexOf('.'), token.lastIndexOf('.')]);
  for (let index = 0; index < token.length; index += 1) {
    const replacement = token[index] === 'A' ? 'B' : 'A';
    const mutated = token.slice(0, index) + (dots.has(index) ? 'A' : replacement) + token.slice(index + 1);
    await assertRefused(mutated, `byte ${index}`);
  }
  for (const spelled of [`${token}=`, `${token}.x`, token.slice(0, -1), `${token}A`, token.replaceAll('-', '+')]) {
    if (spelled !== token) await assertRefused(spelled, 'another spelling');
  }
});

test('tokens over 16 KiB are rejected before they are parsed', async () => {
  await assertRefused(await idp.sign({ ...goodClaims(), padding: 'x'.repeat(16_384) }));
});

test('duplicate headers: two Authorization headers are 400, whatever they say', async (t) => {
  const token = await idp.issueAccessToken({ resource: a });
  for (const [first, second] of [
    [`Bearer ${token}`, 'Bearer x'],
    ['Bearer x', `Bearer ${token}`],
    [`Bearer ${token}`, `Bearer ${token}`],
    ['Basic YTpi', `Bearer ${token}`],
  ]) {
    upstream.forget();
    const wire = await connectWire(t, gateway.port);
    wire.send(
      `POST /a HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: ${first}\r\nauthorization: ${second}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    const [answer] = readAnswers(await wire.waitForClose());
    assert.equal(answer!.status, 400, answer!.body);
    assert.equal(upstream.headCount, 0);
  }
});

test('a token in the query or in a form is not looked at, and is refused', async () => {
  const token = await idp.issueAccessToken({ resource: a });
  const inQuery = await postMcp(`${a}?access_token=${token}`, listTools);
  assert.equal(inQuery.status, 400, inQuery.body);
  const both = await postMcp(`${a}?access_token=${token}`, listTools, { authorization: `Bearer ${token}` });
  assert.equal(both.status, 400, both.body);
  assert.equal(upstream.headCount, 0);
});

test('the token is not passed on, and nothing of it is in the log', async () => {
  const token = await idp.issueAccessToken({ resource: a });
  assert.equal((await post(token)).status, 200);
  assert.equal((await post(`${token.slice(0, -4)}AAAA`)).status, 401);
  assert.equal(upstream.bytes.includes(token), false);
  assert.deepEqual(upstream.requests[0]!.all('authorization'), []);
  assert.equal(gateway.readOutput().includes(token.slice(0, 60)), false);
});

describe('sessions', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };

  async function startSession(user: string, url = a): Promise<string> {
    const answer = await post(await idp.issueAccessToken({ user, resource: url }), url, {}, initialize);
    assert.equal(answer.status, 200, answer.body);
    return String(answer.headers['mcp-session-id']);
  }

  test('a session belongs to the user who began it: another user gets 404, as for an unknown session', async () => {
    const session = await startSession('alice');
    const alice = await idp.issueAccessToken({ user: 'alice', resource: a });
    const bob = await idp.issueAccessToken({ user: 'bob', resource: a });
    assert.equal((await post(alice, a, { 'mcp-session-id': session })).status, 200);
    upstream.forget();
    const stolen = await post(bob, a, { 'mcp-session-id': session });
    const unknown = await post(bob, a, { 'mcp-session-id': 'no-such-session' });
    assert.equal(stolen.status, 404, stolen.body);
    assert.equal(unknown.status, 404, unknown.body);
    assert.equal(stolen.json()['error'], unknown.json()['error']);
    assert.equal(upstream.headCount, 0);
    assert.equal(session.includes('session-'), false, 'the id of the MCP server is sealed');
  });

  test('a session of one backend is unknown at another', async () => {
    const session = await startSession('alice', a);
    const token = await idp.issueAccessToken({ user: 'alice', resource: b });
    upstream.forget();
    assert.equal((await post(token, b, { 'mcp-session-id': session })).status, 404);
    assert.equal(upstream.headCount, 0);
  });

  test('an altered session id is unknown', async () => {
    const session = await startSession('alice');
    const token = await idp.issueAccessToken({ user: 'alice', resource: a });
    upstream.forget();
    for (const altered of [`${session}x`, session.slice(0, -1), `A${session.slice(1)}`, 'session-1', '']) {
      if (altered === session) continue;
      const answer = await post(token, a, { 'mcp-session-id': altered });
      assert.ok(answer.status === 404 || answer.status === 400, `${answer.status} for ${altered}`);
    }
    assert.equal(upstream.headCount, 0);
  });

  test('users without `sub` share a session: a token without `sub` is refused while sessions are bound', async () => {
    for (const sub of [undefined, '']) {
      upstream.forget();
      const answer = await post(await idp.sign({ ...goodClaims(), sub }));
      assert.equal(answer.status, 403, answer.body);
      assert.equal(answer.json()['error'], 'missing_subject');
      assert.equal(upstream.headCount, 0);
    }
  });

  test('same JSON-RPC id from two clients (CVE-2026-25536): answers never cross', async () => {
    const users = ['alice', 'bob'];
    const parts = await Promise.all(
      users.map(async (user) => ({
        session: await startSession(user),
        token: await idp.issueAccessToken({ user, resource: a }),
      })),
    );
    upstream.forget();
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { session, token } = parts[index % 2]!;
        const answer = await post(token, a, { 'mcp-session-id': session }, { ...listTools, id: 7 });
        assert.equal(answer.json()['id'], 7);
        const back = answer.headers['mcp-session-id'];
        assert.ok(back === undefined || back === session);
      }),
    );
    const pairs = new Set(
      upstream.requests.map((each) => `${each.all('x-auth-subject')[0]} ${each.all('mcp-session-id')[0]}`),
    );
    assert.equal(pairs.size, 2, 'each user has one session, and nobody else’s');
  });
});
