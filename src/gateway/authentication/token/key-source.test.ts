import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedFetcher, GuardedRequest } from '../../../base/fetch-json.ts';
import { createManualClock, type ManualClock } from '../../../../test/kit/manual-clock.ts';
import { createTokenValidator } from './create-validator.ts';
import { createKeySource, type KeySource, type KeySourceOptions } from './key-source.ts';
import { createTestKey, signWithJose, type TestKey } from '../../../../test/kit/test-issuer.ts';
import type { TokenValidator } from './verified-token.ts';

const issuer = 'https://idp.example.com';
const url = 'https://idp.example.com/jwks';
const minute = 60_000;
const keyA = createTestKey('ES256', { kid: 'a' });
const keyB = createTestKey('ES256', { kid: 'b' });

/** An issuer without a network: what it answers can be changed, and when. */
interface FakeIssuer {
  readonly fetcher: GuardedFetcher;
  readonly requests: GuardedRequest[];
  answer: () => FetchOutcome;
  /** Answers wait for release() while it is set. */
  isHeld: boolean;
  release(): void;
}

function createFakeIssuer(answer: () => FetchOutcome): FakeIssuer {
  const waiting: (() => void)[] = [];
  const fake: FakeIssuer = {
    requests: [],
    answer,
    isHeld: false,
    release() {
      fake.isHeld = false;
      for (const resume of waiting.splice(0)) resume();
    },
    fetcher: {
      async fetch(request) {
        fake.requests.push(request);
        // What the issuer had when it was asked, however late it arrives.
        const outcome = fake.answer();
        if (fake.isHeld) await new Promise<void>((resume) => waiting.push(resume));
        return outcome;
      },
      close: () => Promise.resolve(),
    },
  };
  return fake;
}

function serveKeys(keys: readonly (TestKey | object)[], headers: Record<string, string> = {}): FetchOutcome {
  const list = keys.map((key) => ('publicJwk' in key ? key.publicJwk : key));
  return { ok: true, status: 200, headers: new Map(Object.entries(headers)), body: JSON.stringify({ keys: list }) };
}

function serveText(body: string, status = 200): FetchOutcome {
  return { ok: true, status, headers: new Map([['content-type', 'text/html']]), body };
}

const down: FetchOutcome = { ok: false, code: 'unreachable', message: `${url} cannot be reached` };

interface Setup {
  readonly clock: ManualClock;
  readonly source: KeySource;
  readonly validator: TokenValidator;
  readonly fake: FakeIssuer;
}

async function setUp(answer: () => FetchOutcome, options: Partial<KeySourceOptions> = {}): Promise<Setup> {
  const clock = createManualClock();
  const fake = createFakeIssuer(answer);
  const source = createKeySource({ location: url, fetcher: fake.fetcher, clock, random: () => 0, ...options });
  const validator = createTokenValidator({ issuer, keySource: source, clockSkewMs: 0, now: () => clock.now() });
  await clock.advance(0);
  return { clock, source, validator, fake };
}

function sign(key: TestKey, clock: ManualClock, kid: string | undefined = key.publicJwk.kid): Promise<string> {
  const exp = clock.now() / 1_000 + 100_000_000;
  return signWithJose(key, { alg: 'ES256', ...(kid === undefined ? {} : { kid }) }, { iss: issuer, aud: 'api', exp });
}

async function reasonOf({ validator }: Setup, token: string): Promise<string> {
  const verdict = await validator.validate(token, ['api']);
  return verdict.ok ? 'ok' : verdict.reason;
}

describe('fetching', () => {
  test('when it is created, not at the first request', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    assert.equal(setup.fake.requests.length, 1);
    assert.equal(setup.fake.requests[0]?.chosenBy, 'operator');
    assert.equal(setup.source.getKeys().ok, true);
    assert.equal(setup.fake.requests.length, 1);
  });

  test('CA and http permission are handed on', async () => {
    const { fake } = await setUp(() => serveKeys([keyA]), { ca: 'PEM', allowInsecureHttp: true });
    assert.equal(fake.requests[0]?.ca, 'PEM');
    assert.equal(fake.requests[0]?.allowInsecureHttp, true);
  });

  test('a request that comes before the keys waits for them', async () => {
    const clock = createManualClock();
    const fake = createFakeIssuer(() => serveKeys([keyA]));
    fake.isHeld = true;
    const source = createKeySource({ location: url, fetcher: fake.fetcher, clock });
    const validator = createTokenValidator({ issuer, keySource: source, clockSkewMs: 0, now: () => clock.now() });
    const token = await sign(keyA, clock);
    const verdicts = [validator.validate(token, ['api']), validator.validate(token, ['api'])];
    assert.ok(verdicts.every((verdict) => verdict instanceof Promise));
    fake.release();
    assert.deepEqual(
      (await Promise.all(verdicts)).map(({ ok }) => ok),
      [true, true],
    );
    assert.equal(fake.requests.length, 1);
  });

  test('a URL that is known only later', async () => {
    let isKnown = false;
    const setup = await setUp(() => serveKeys([keyA]), {
      location: () =>
        Promise.resolve(isKnown ? { ok: true, url: `${url}/2` } : { ok: false, detail: 'no metadata yet' }),
    });
    assert.equal(setup.fake.requests.length, 0);
    assert.equal(setup.source.describe().problem, 'no metadata yet');
    assert.equal(await reasonOf(setup, await sign(keyA, setup.clock)), 'keys_unavailable');
    isKnown = true;
    await setup.clock.advance(1_000);
    assert.equal(setup.fake.requests[0]?.url, `${url}/2`);
    assert.equal(await reasonOf(setup, await sign(keyA, setup.clock)), 'ok');
  });

  test('a provider of the URL that throws is a failure like any other', async () => {
    const setup = await setUp(() => serveKeys([keyA]), { location: () => Promise.reject(new Error('oops')) });
    assert.equal(setup.source.getKeys().ok, false);
    assert.match(setup.source.describe().problem ?? '', /oops/);
    assert.equal(setup.clock.pendingDelays().length, 1);
  });

  test('what there is can be shown', async () => {
    const setup = await setUp(() => serveKeys([keyA, { kty: 'oct', k: 'AA', kid: 's' }]));
    assert.deepEqual(setup.source.describe(), {
      url,
      keys: [{ id: 'a', algorithms: ['ES256'] }],
      ignored: [{ index: 1, id: 's', why: 'is symmetric: everyone who can verify with it can also sign' }],
      fetchedAtMs: setup.clock.now(),
      problem: undefined,
    });
  });
});

describe('refreshing', () => {
  for (const [name, headers, cacheDurationMs, expectedMs] of [
    ['no header: cacheDuration', {}, 10 * minute, 7.5 * minute],
    ['max-age within the bounds', { 'cache-control': 'max-age=240' }, 10 * minute, 3 * minute],
    ['max-age beyond cacheDuration', { 'cache-control': 'max-age=86400' }, 10 * minute, 7.5 * minute],
    ['max-age below a minute', { 'cache-control': 'max-age=1' }, 10 * minute, 0.75 * minute],
    ['no-store', { 'cache-control': 'no-store' }, 10 * minute, 0.75 * minute],
    ['cacheDuration below a minute', { 'cache-control': 'max-age=3600' }, 20_000, 15_000],
  ] as const) {
    test(`before expiry, in the background; ${name}`, async () => {
      const setup = await setUp(() => serveKeys([keyA], headers), { cacheDurationMs });
      assert.deepEqual(setup.clock.pendingDelays(), [expectedMs]);
      await setup.clock.advance(expectedMs - 1);
      assert.equal(setup.fake.requests.length, 1);
      await setup.clock.advance(1);
      assert.equal(setup.fake.requests.length, 2);
    });
  }

  test('Expires counts where there is no Cache-Control', async () => {
    const setup = await setUp(() =>
      serveKeys([keyA], { expires: new Date(Date.UTC(2026, 0, 1) + 4 * minute).toUTCString() }),
    );
    assert.deepEqual(setup.clock.pendingDelays(), [3 * minute]);
  });

  test('the same keys again keep what was verified; other keys drop it', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    const before = setup.source.getKeys();
    await setup.clock.advance(4 * minute);
    assert.equal(setup.fake.requests.length, 2);
    assert.equal(setup.source.getKeys(), before);
    const token = await sign(keyA, setup.clock);
    assert.equal(await reasonOf(setup, token), 'ok');
    setup.fake.answer = () => serveKeys([keyB]);
    await setup.clock.advance(4 * minute);
    assert.notEqual(setup.source.getKeys(), before);
    assert.equal(await reasonOf(setup, token), 'token_unknown_key');
  });

  test('a timer that never came (the machine slept) is made up for by the next request', async () => {
    const clock = createManualClock();
    const deaf = { ...clock, setTimer: () => () => {} };
    const fake = createFakeIssuer(() => serveKeys([keyA]));
    const source = createKeySource({ location: url, fetcher: fake.fetcher, clock: deaf });
    await clock.advance(0);
    await clock.advance(10 * minute);
    assert.equal(source.getKeys().ok, true, 'the old keys serve meanwhile');
    await clock.advance(0);
    assert.equal(fake.requests.length, 2);
  });

  test('closing ends it', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    setup.source.close();
    assert.deepEqual(setup.clock.pendingDelays(), []);
    await setup.clock.advance(60 * minute);
    assert.equal(setup.source.getKeys().ok, true);
    assert.equal(setup.source.refetch(), undefined);
    assert.equal(setup.source.load(), undefined);
    assert.equal(setup.fake.requests.length, 1);
  });

  test('closing during a fetch leaves no timer behind', async () => {
    const clock = createManualClock();
    const fake = createFakeIssuer(() => serveKeys([keyA]));
    fake.isHeld = true;
    const source = createKeySource({ location: url, fetcher: fake.fetcher, clock });
    source.close();
    fake.release();
    await clock.advance(0);
    assert.deepEqual(clock.pendingDelays(), []);
  });
});

describe('an issuer in trouble', () => {
  test('down from the start: 503 with a time to try again, more and more rarely asked, and then fine', async () => {
    const setup = await setUp(() => down);
    const token = await sign(keyA, setup.clock);
    const verdict = await setup.validator.validate(token, ['api']);
    assert.ok(!verdict.ok);
    assert.equal(verdict.reason, 'keys_unavailable');
    assert.equal(verdict.retryAfterSeconds, 1);
    assert.match(verdict.operatorDetail ?? '', /never loaded: https:\/\/idp\.example\.com\/jwks cannot be reached/);
    const delays: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      const [delay = 0] = setup.clock.pendingDelays();
      delays.push(delay);
      await setup.clock.advance(delay);
    }
    assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, minute, minute, minute]);
    assert.equal(setup.fake.requests.length, 10);
    for (let request = 0; request < 100; request += 1) await reasonOf(setup, token);
    assert.equal(setup.fake.requests.length, 10, 'requests do not add to it');
    setup.fake.answer = () => serveKeys([keyA]);
    await setup.clock.advance(minute);
    assert.equal(await reasonOf(setup, token), 'ok');
  });

  for (const [name, broken] of [
    ['unreachable', down],
    ['500', serveText('oops', 500)],
    ['404 with keys in it', { ...serveKeys([keyB]), status: 404 } as FetchOutcome],
    ['HTML', serveText('<html>')],
    ['an empty set', serveKeys([])],
    ['no keys member', serveText('{}')],
    ['an array', serveText('[]')],
    ['a set of unusable keys', serveKeys([{ kty: 'oct', k: 'AA' }, { kty: 'RSA' }])],
    ['empty', serveText('')],
    ['too large', { ok: false, code: 'too_large', message: 'x' } as FetchOutcome],
    ['redirecting', { ok: false, code: 'redirect', message: 'x' } as FetchOutcome],
  ] as const) {
    test(`later ${name}: the last good keys stay, up to maxStale`, async () => {
      const setup = await setUp(() => serveKeys([keyA]));
      const token = await sign(keyA, setup.clock);
      setup.fake.answer = () => broken;
      await setup.clock.advance(60 * minute);
      assert.ok(setup.fake.requests.length > 10);
      assert.equal(await reasonOf(setup, token), 'ok');
      assert.notEqual(setup.source.describe().problem, undefined);
      // Fresh for 5 minutes, and then 24 hours.
      await setup.clock.advance((23 * 60 + 4) * minute);
      assert.equal(await reasonOf(setup, token), 'ok');
      await setup.clock.advance(minute);
      assert.equal(await reasonOf(setup, token), 'keys_unavailable');
      setup.fake.answer = () => serveKeys([keyA]);
      await setup.clock.advance(minute);
      assert.equal(await reasonOf(setup, token), 'ok');
      assert.equal(setup.source.describe().problem, undefined);
    });
  }

  test('one bad key among good ones costs only itself', async () => {
    const setup = await setUp(() =>
      serveKeys([{ kty: 'EC', crv: 'P-256', x: 1 }, null as never, keyA].filter(Boolean)),
    );
    assert.equal(await reasonOf(setup, await sign(keyA, setup.clock)), 'ok');
  });
});

describe('unknown keys', () => {
  test('a rotation loses no valid request, even when it comes right after a fetch', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    setup.fake.answer = () => serveKeys([keyB]);
    const token = await sign(keyB, setup.clock);
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => reasonOf(setup, token)));
    assert.ok(verdicts.every((reason) => reason === 'ok'));
    assert.equal(setup.fake.requests.length, 2);
  });

  test('a fetch that was under way and is older than the rotation does not lose it either', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    setup.fake.isHeld = true;
    // The background refresh sees the old keys...
    await setup.clock.advance(4 * minute);
    assert.equal(setup.fake.requests.length, 2);
    // ...and the token is signed with the new one.
    setup.fake.answer = () => serveKeys([keyA, keyB]);
    const verdict = reasonOf(setup, await sign(keyB, setup.clock));
    setup.fake.release();
    assert.equal(await verdict, 'ok');
    assert.equal(setup.fake.requests.length, 3);
  });

  test('new keys under the old kid, or without kid, are found as well', async () => {
    for (const kid of ['same', undefined]) {
      const [before, after] = [createTestKey('ES256', { kid }), createTestKey('ES256', { kid })];
      const setup = await setUp(() => serveKeys([before]));
      setup.fake.answer = () => serveKeys([after]);
      assert.equal(await reasonOf(setup, await sign(after, setup.clock, kid)), 'ok', kid ?? 'no kid');
      assert.equal(await reasonOf(setup, await sign(before, setup.clock, kid)), 'token_bad_signature', kid ?? 'no kid');
    }
  });

  test('10,000 unknown kids cause one fetch per cooldown', async () => {
    const setup = await setUp(() => serveKeys([keyA]), { cooldownMs: 10_000 });
    const good = await sign(keyA, setup.clock);
    const stranger = createTestKey('ES256');
    const template = await sign(stranger, setup.clock, 'unknown');
    const [, claims, signature] = template.split('.');
    const flood = Array.from({ length: 10_000 }, (_, index) => {
      const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `unknown-${index}` })).toString('base64url');
      return `${header}.${claims}.${signature}`;
    });
    for (const half of [flood.slice(0, 5_000), flood.slice(5_000)]) {
      const reasons = await Promise.all(half.map((token) => reasonOf(setup, token)));
      assert.ok(reasons.every((reason) => reason === 'token_unknown_key'));
    }
    assert.equal(setup.fake.requests.length, 2);
    assert.equal(await reasonOf(setup, good), 'ok');
    await setup.clock.advance(9_999);
    await reasonOf(setup, flood[0]!);
    assert.equal(setup.fake.requests.length, 2);
    await setup.clock.advance(1);
    await Promise.all(flood.slice(0, 1_000).map((token) => reasonOf(setup, token)));
    assert.equal(setup.fake.requests.length, 3);
  });

  test('during the cooldown the answer is there at once', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    const token = await sign(keyB, setup.clock);
    assert.equal(await reasonOf(setup, token), 'token_unknown_key');
    const started = setup.fake.requests.length;
    const verdict = await setup.validator.validate(token, ['api']);
    assert.equal(verdict.ok, false);
    assert.equal(setup.fake.requests.length, started);
  });

  test('tokens that are wrong on their face cause no fetch', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    const past = setup.clock.now() / 1_000 - 1;
    for (const claims of [
      { iss: 'https://evil.example.com', exp: past + 1_000 },
      { iss: issuer, exp: past },
      { iss: issuer },
    ]) {
      await reasonOf(setup, await signWithJose(keyB, { alg: 'ES256', kid: 'b' }, claims));
    }
    await reasonOf(setup, 'x.y.z');
    assert.equal(setup.fake.requests.length, 1);
  });

  test('an issuer that is down while an unknown kid comes keeps its good keys', async () => {
    const setup = await setUp(() => serveKeys([keyA]));
    setup.fake.answer = () => down;
    assert.equal(await reasonOf(setup, await sign(keyB, setup.clock)), 'token_unknown_key');
    assert.equal(await reasonOf(setup, await sign(keyA, setup.clock)), 'ok');
  });
});
