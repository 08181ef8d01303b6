// The token engine with an issuer on a real socket: what a JWKS endpoint can do wrong, a rotation, and an issuer that goes away.
import assert from 'node:assert/strict';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createFetcher } from '../../src/base/fetch-json.ts';
import { createManualClock, type ManualClock } from '../kit/manual-clock.ts';
import { createTokenValidator } from '../../src/gateway/authentication/token/create-validator.ts';
import { createKeySource, type KeySource } from '../../src/gateway/authentication/token/key-source.ts';
import { createTestKey, signWithJose, type TestKey } from '../kit/test-issuer.ts';
import type { TokenVerdict } from '../../src/gateway/authentication/token/verified-token.ts';
import { waitFor } from '../kit/wait-for.ts';

const issuer = 'https://idp.example.com';
const keyA = createTestKey('ES256', { kid: 'a' });
const keyB = createTestKey('RS256', { kid: 'b' });
const startMs = Date.now();

interface Fixture {
  readonly source: KeySource;
  readonly clock: ManualClock;
  readonly fetches: () => number;
  respond: (response: ServerResponse) => void;
  validate(token: string): Promise<TokenVerdict>;
  reasonOf(token: string): Promise<string>;
  stopIssuer(): Promise<void>;
  restartIssuer(): Promise<void>;
}

async function setUp(context: TestContext, respond: (response: ServerResponse) => void): Promise<Fixture> {
  let fetches = 0;
  let server: Server | undefined;
  let port = 0;
  const fetcher = createFetcher();
  const clock = createManualClock(startMs);
  async function listen(): Promise<void> {
    server = createServer((_request, response) => {
      fetches += 1;
      fixture.respond(response);
    });
    // On a slow machine seconds may pass between two requests: the connection stays.
    server.keepAliveTimeout = 600_000;
    await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  }
  async function stop(): Promise<void> {
    const current = server;
    server = undefined;
    if (current === undefined) return;
    const closed = new Promise((resolve) => current.close(resolve));
    current.closeAllConnections();
    await closed;
  }
  const fixture = { respond } as Fixture;
  await listen();
  const source = createKeySource({ location: `http://127.0.0.1:${port}/jwks`, fetcher, clock, random: () => 0 });
  const validator = createTokenValidator({ issuer, keySource: source, clockSkewMs: 0, now: () => clock.now() });
  context.after(async () => {
    source.close();
    await fetcher.close();
    await stop();
  });
  Object.assign(fixture, {
    source,
    clock,
    fetches: () => fetches,
    validate: async (token: string) => validator.validate(token, ['api']),
    async reasonOf(token: string) {
      const verdict = await validator.validate(token, ['api']);
      return verdict.ok ? 'ok' : verdict.reason;
    },
    stopIssuer: stop,
    restartIssuer: listen,
  } satisfies Partial<Fixture>);
  await source.load();
  return fixture;
}

function serveKeys(...keys: readonly (TestKey | object)[]): (response: ServerResponse) => void {
  const body = JSON.stringify({ keys: keys.map((key) => ('publicJwk' in key ? key.publicJwk : key)) });
  return (response) => void response.writeHead(200, { 'content-type': 'application/jwk-set+json' }).end(body);
}

function sign(key: TestKey, claims: object = {}): Promise<string> {
  const alg = key === keyB ? 'PS256' : 'ES256';
  const { kid } = key.publicJwk;
  return signWithJose(
    key,
    { alg, ...(kid === undefined ? {} : { kid }) },
    { iss: issuer, aud: 'api', exp: startMs / 1_000 + 1_000_000, ...claims },
  );
}

/** A refresh in the background has ended when its outcome can be seen. */
async function waitForFetch(fixture: Fixture, before: number): Promise<void> {
  await waitFor(() => fixture.fetches() > before, { intervalMs: 0 });
  await fixture.source.load();
}

describe('JWKS over HTTP', () => {
  test('keys are fetched at the start, and tokens verified with them', async (context) => {
    const fixture = await setUp(context, serveKeys(keyA, keyB));
    assert.equal(fixture.fetches(), 1);
    assert.equal(await fixture.reasonOf(await sign(keyA)), 'ok');
    assert.equal(await fixture.reasonOf(await sign(keyB)), 'ok');
    assert.equal(fixture.fetches(), 1);
  });

  const bigKey = { kty: 'RSA', n: 'A'.repeat(20_000_000), e: 'AQAB', kid: 'big' };
  for (const [name, respond, problem] of [
    ['20 MB', serveKeys(keyA, bigKey), /more than 1048576 bytes/],
    ['HTML', (response: ServerResponse) => response.setHeader('content-type', 'text/html').end('<html>'), /not JSON/],
    [
      'a redirect to good keys',
      (response: ServerResponse) => response.writeHead(302, { location: '/other' }).end(),
      /redirects are not followed/,
    ],
    ['an empty set', serveKeys(), /is empty/],
    ['a set without a usable key', serveKeys({ kty: 'oct', k: 'AA', kid: 'hs' }), /key hs is symmetric/],
    ['503', (response: ServerResponse) => response.writeHead(503).end('{"keys":[]}'), /answers 503/],
    ['a broken connection', (response: ServerResponse) => response.destroy(), /broke off/],
  ] as const satisfies readonly (readonly [string, (response: ServerResponse) => unknown, RegExp])[]) {
    test(`from the start ${name}: closed with 503; once repaired, open`, async (context) => {
      const fixture = await setUp(context, respond);
      const token = await sign(keyA);
      const verdict = await fixture.validate(token);
      assert.ok(!verdict.ok);
      assert.equal(verdict.reason, 'keys_unavailable');
      assert.equal(verdict.retryAfterSeconds, 1);
      assert.match(verdict.operatorDetail ?? '', problem);
      fixture.respond = serveKeys(keyA);
      const before = fixture.fetches();
      await fixture.clock.advance(1_000);
      await waitForFetch(fixture, before);
      assert.equal(await fixture.reasonOf(token), 'ok');
    });

    test(`later ${name}: the good keys stay`, async (context) => {
      const fixture = await setUp(context, serveKeys(keyA));
      fixture.respond = respond;
      const before = fixture.fetches();
      await fixture.clock.advance(4 * 60_000);
      await waitForFetch(fixture, before);
      assert.match(fixture.source.describe().problem ?? '', problem);
      assert.equal(await fixture.reasonOf(await sign(keyA)), 'ok');
    });
  }

  test('one bad key among good ones, and encryption keys mixed in, cost only themselves', async (context) => {
    const encryption = { ...createTestKey('RS256').publicJwk, use: 'enc', alg: 'RSA-OAEP', kid: 'e' };
    const fixture = await setUp(
      context,
      serveKeys({ kty: 'EC', crv: 'P-256' }, encryption, keyA, { nonsense: true }, keyB),
    );
    assert.equal(await fixture.reasonOf(await sign(keyA)), 'ok');
    assert.equal(await fixture.reasonOf(await sign(keyB)), 'ok');
    assert.equal(fixture.source.describe().ignored.length, 3);
  });

  test('an encryption key does not verify, even when it signed', async (context) => {
    const encryption = createTestKey('ES256', { kid: 'e', use: 'enc' });
    const fixture = await setUp(context, serveKeys(encryption, keyA));
    assert.equal(await fixture.reasonOf(await sign(encryption)), 'token_unknown_key');
  });
});

describe('rotation and outage', () => {
  test('a rotation under load loses no valid request', async (context) => {
    const fixture = await setUp(context, serveKeys(keyA));
    const [oldToken, newToken] = [await sign(keyA), await sign(keyB)];
    const before = await Promise.all(Array.from({ length: 200 }, () => fixture.reasonOf(oldToken)));
    fixture.respond = serveKeys(keyA, keyB);
    const during = await Promise.all(
      Array.from({ length: 400 }, (_, index) => fixture.reasonOf(index % 2 === 0 ? oldToken : newToken)),
    );
    assert.deepEqual(new Set([...before, ...during]), new Set(['ok']));
    assert.equal(fixture.fetches(), 2);
    fixture.respond = serveKeys(keyB);
    const seen = fixture.fetches();
    await fixture.clock.advance(4 * 60_000);
    await waitForFetch(fixture, seen);
    assert.equal(await fixture.reasonOf(newToken), 'ok');
    assert.equal(await fixture.reasonOf(oldToken), 'token_unknown_key', 'a key that was taken away verifies no more');
  });

  test('the issuer goes away and comes back: no request is lost, and the keys are refreshed', async (context) => {
    const fixture = await setUp(context, serveKeys(keyA));
    const token = await sign(keyA);
    await fixture.stopIssuer();
    for (let minute = 0; minute < 30; minute += 1) {
      await fixture.clock.advance(60_000);
      await fixture.source.load();
      assert.equal(await fixture.reasonOf(token), 'ok');
      assert.equal(await fixture.reasonOf(await sign(keyA, { jti: String(minute) })), 'ok');
    }
    assert.match(fixture.source.describe().problem ?? '', /the connection was refused/);
    fixture.respond = serveKeys(keyA, keyB);
    await fixture.restartIssuer();
    assert.equal(await fixture.reasonOf(await sign(keyB)), 'ok');
    assert.equal(fixture.source.describe().problem, undefined);
  });

  test('10,000 requests with unknown kids cause one fetch', async (context) => {
    const fixture = await setUp(context, serveKeys(keyA));
    const [, claims, signature] = (await sign(createTestKey('ES256'))).split('.');
    const ask = (index: number): Promise<string> => {
      const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `unknown-${index}` })).toString('base64url');
      return fixture.reasonOf(`${header}.${claims}.${signature}`);
    };
    // The first one's fetch has reached the issuer before the others begin: so much work at once would be longer than its timeout on a busy machine.
    let answer = (): void => assert.fail('not fetched');
    fixture.respond = (response) => (answer = () => serveKeys(keyA)(response));
    const first = ask(0);
    await waitFor(() => fixture.fetches() === 2);
    const others = Array.from({ length: 9_999 }, (_, index) => ask(index + 1));
    answer();
    assert.deepEqual(new Set(await Promise.all([first, ...others])), new Set(['token_unknown_key']));
    assert.equal(fixture.fetches(), 2);
    assert.equal(await fixture.reasonOf(await sign(keyA)), 'ok');
  });
});
