// One process fetches for all: what workers see of it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedFetcher } from '../../base/fetch-json.ts';
import { silentLog } from '../../base/log.ts';
import { createManualClock } from '../../../test/kit/manual-clock.ts';
import type { IdpConnectionOptions } from '../config/idp-connection.ts';
import { standardPreset } from '../config/provider-preset.ts';
import { answerJson } from '../authentication/testing/broker-fixture.ts';
import type { KeySource } from '../authentication/token/key-source.ts';
import type { KeyFetching } from '../authentication/token/open-key-source.ts';
import { createTestKey, type TestKey } from '../../../test/kit/test-issuer.ts';
import { CallChannel } from './call-channel.ts';
import { MirroredSources } from './mirrored-sources.ts';
import { PublishedSources } from './published-sources.ts';
import { createRemoteLogins } from './remote-logins.ts';
import type { SupervisorCalls } from './worker-calls.ts';

const issuer = 'https://idp.example.com';
const jwks = `${issuer}/jwks`;
const down: FetchOutcome = { ok: false, code: 'unreachable', message: 'the issuer is down' };
const [keyA, keyB] = [createTestKey('ES256', { kid: 'a' }), createTestKey('ES256', { kid: 'b' })];
const serve = (...keys: readonly TestKey[]): FetchOutcome =>
  answerJson({ keys: keys.map(({ publicJwk }) => publicJwk) });

/** Asks all of them at once. */
async function allOf(
  sources: readonly KeySource[],
  ask: (source: KeySource) => Promise<void> | undefined,
): Promise<void> {
  await Promise.all(sources.map(async (source) => ask(source)));
}

/** A process that fetches, and workers that are told. */
function start(answers: Record<string, FetchOutcome>, workerCount = 2) {
  const clock = createManualClock();
  const asked: string[] = [];
  const fetcher: GuardedFetcher = {
    fetch(request) {
      asked.push(request.url);
      return Promise.resolve(answers[request.url] ?? down);
    },
    close: () => Promise.resolve(),
  };
  const fetching: KeyFetching = { fetcher, ca: undefined, cacheDurationMs: 300_000, log: silentLog, clock, id: 'keys' };
  const workers: MirroredSources[] = [];
  const published = new PublishedSources(
    {
      takeKeys: (news) => workers.forEach((worker) => worker.takeKeys(structuredClone(news))),
      takeMetadata: (news) => workers.forEach((worker) => worker.takeMetadata(structuredClone(news))),
    },
    () => {},
  );
  const addWorker = (): MirroredSources => {
    const ends: { here?: CallChannel<SupervisorCalls, object>; there?: CallChannel<object, object> } = {};
    ends.here = new CallChannel({ send: (message) => queueMicrotask(() => ends.there!.receive(message)) }, {});
    ends.there = new CallChannel(
      { send: (message) => queueMicrotask(() => ends.here!.receive(structuredClone(message))) },
      {
        loadKeys: (id: string) => published.loadKeys(id),
        refetchKeys: (id: string) => published.refetchKeys(id),
        getMetadata: (id: string) => published.getMetadata(id),
      },
    );
    const channel = ends.here;
    const worker = new MirroredSources(channel, (id) => createRemoteLogins(channel, id), clock);
    published.greet(worker);
    workers.push(worker);
    return worker;
  };
  for (let left = workerCount; left > 0; left -= 1) addWorker();
  const open = (sources: MirroredSources | PublishedSources) =>
    sources.openKeySource({ kind: 'url', url: jwks, allowInsecureHttp: false }, fetching);
  return { clock, asked, answers, published, workers, addWorker, open, fetcher };
}

describe('keys', () => {
  test('are fetched by one, and known to all', async () => {
    const { published, workers, open, clock, asked } = start({ [jwks]: serve(keyA) });
    const origin = open(published);
    const mirrors = workers.map(open);
    assert.deepEqual(
      mirrors.map((mirror) => mirror.getKeys().ok),
      [false, false],
    );
    await allOf(mirrors, (mirror) => mirror.load());
    await clock.advance(0);
    for (const mirror of mirrors) {
      const state = mirror.getKeys();
      assert.ok(state.ok);
      assert.deepEqual(
        state.keySet.keys.map(({ id }) => id),
        ['a'],
      );
      assert.deepEqual(mirror.describe(), origin.describe());
    }
    assert.deepEqual(asked, [jwks]);
  });

  test('that are unknown are asked for once, by however many', async () => {
    const { published, workers, open, clock, asked, answers } = start({ [jwks]: serve(keyA) });
    open(published);
    const mirrors = workers.map(open);
    await clock.advance(0);
    answers[jwks] = serve(keyA, keyB);
    await allOf([...mirrors, ...mirrors], (mirror) => mirror.refetch());
    await clock.advance(0);
    for (const mirror of mirrors) {
      const state = mirror.getKeys();
      assert.ok(state.ok && state.keySet.keys.length === 2);
    }
    assert.equal(asked.length, 2);
    // Within the pause between two fetches nobody is asked, and workers do not ask all the time whether it is over.
    await allOf(mirrors, (mirror) => mirror.refetch());
    assert.deepEqual(
      mirrors.map((mirror) => mirror.refetch()),
      [undefined, undefined],
    );
    assert.equal(asked.length, 2);
    await clock.advance(10_000);
    await allOf(mirrors, (mirror) => mirror.refetch());
    assert.equal(asked.length, 3);
  });

  test('are refreshed by one, and the same keys stay the same object', async () => {
    const { published, workers, open, clock, asked } = start({ [jwks]: serve(keyA) });
    open(published);
    const mirror = open(workers[0]!);
    await clock.advance(0);
    const before = mirror.getKeys();
    await clock.advance(300_000);
    assert.equal(asked.length, 2);
    assert.equal(mirror.getKeys(), before);
  });

  test('a worker that comes later knows them before it asks', async () => {
    const { published, addWorker, open, clock, asked } = start({ [jwks]: serve(keyA) });
    open(published);
    await clock.advance(0);
    assert.ok(open(addWorker()).getKeys().ok);
    assert.deepEqual(asked, [jwks]);
  });

  test('that cannot be had fail closed, with the reason; the last ones stay in use for as long as in one process', async () => {
    const { published, workers, open, clock, answers } = start({});
    const origin = open(published);
    const mirror = open(workers[0]!);
    await clock.advance(0);
    assert.deepEqual(mirror.getKeys(), origin.getKeys());
    assert.match(JSON.stringify(mirror.getKeys()), /never loaded: the issuer is down/);

    answers[jwks] = serve(keyA);
    await clock.advance(60_000);
    assert.ok(mirror.getKeys().ok);
    answers[jwks] = down;
    await clock.advance(23 * 3_600_000);
    assert.deepEqual([mirror.getKeys().ok, origin.getKeys().ok], [true, true]);
    assert.equal(mirror.describe().problem, 'the issuer is down');
    await clock.advance(2 * 3_600_000);
    assert.deepEqual([mirror.getKeys().ok, origin.getKeys().ok], [false, false]);
  });

  test('that are part of the configuration every worker reads itself', () => {
    const { workers, fetcher } = start({});
    const document = JSON.stringify({ keys: [keyA.publicJwk] });
    const fetching = { fetcher, ca: undefined, cacheDurationMs: 1, log: silentLog };
    assert.ok(workers[0]!.openKeySource({ kind: 'inline', document }, fetching).getKeys().ok);
  });
});

describe('an identity provider', () => {
  const metadataUrl = `${issuer}/.well-known/oauth-authorization-server`;
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    jwks_uri: jwks,
    code_challenge_methods_supported: ['S256'],
  };

  const optionsOf = (fetcher: GuardedFetcher): IdpConnectionOptions => ({
    id: 'idp',
    issuer,
    metadataUrl,
    keys: { kind: 'discovered' },
    cacheDurationMs: 300_000,
    ca: undefined,
    allowInsecureHttp: false,
    preset: standardPreset,
    flow: 'Auto',
    registration: 'Forward',
    registrationEndpoint: '',
    clockSkewMs: 0,
    requiredClaims: [],
    describeUsers: () => 'default/policy',
    fetcher,
    log: silentLog,
  });

  test('is asked by one process: workers have its metadata, its keys and the flow that follows', async (t) => {
    const { published, workers, asked, fetcher } = start({
      [metadataUrl]: answerJson(document),
      [jwks]: serve(keyA),
    });
    const origin = published.connectIdp(optionsOf(fetcher));
    t.after(() => origin.close());
    const mirrors = workers.map((worker) => worker.connectIdp(optionsOf(fetcher)));
    for (const mirror of mirrors) {
      const state = await mirror.getMetadata();
      assert.ok(state.ok);
      assert.equal(state.metadata.token_endpoint, document.token_endpoint);
      assert.equal(await mirror.loadKeys!(), undefined);
      assert.equal(mirror.hasKeys, true);
      assert.deepEqual(mirror.getFlow(), origin.getFlow());
      assert.ok(mirror.getFlow());
    }
    assert.deepEqual(asked.toSorted(), [metadataUrl, jwks].toSorted());
  });

  test('that is down: a worker says why, and when to come back', async (t) => {
    const { published, workers, fetcher } = start({});
    const origin = published.connectIdp(optionsOf(fetcher));
    t.after(() => origin.close());
    const mirror = workers[0]!.connectIdp(optionsOf(fetcher));
    const state = await mirror.getMetadata();
    assert.ok(!state.ok);
    assert.match(state.detail, /the issuer is down/);
    assert.equal((await mirror.loadKeys!())?.reason, 'keys_unavailable');
  });

  test('that nobody needs any more is let go', async () => {
    const { published, addWorker, fetcher } = start({ [metadataUrl]: answerJson(document), [jwks]: serve(keyA) });
    const origin = published.connectIdp(optionsOf(fetcher));
    await origin.getMetadata();
    await origin.loadKeys!();
    origin.close();
    const late = addWorker().connectIdp(optionsOf(fetcher));
    assert.equal((await late.getMetadata()).ok, false);
    assert.equal(late.hasKeys, false);
  });
});
