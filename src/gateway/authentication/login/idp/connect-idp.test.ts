import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome } from '../../../../base/fetch-json.ts';
import { createLog } from '../../../../base/log.ts';
import { createTestKey, signWithJose } from '../../../../../test/kit/test-issuer.ts';
import { connectIdp } from './connect-idp.ts';
import type { IdpConnectionOptions } from '../../../config/idp-connection.ts';
import { standardPreset } from '../../../config/provider-preset.ts';
import { findPreset } from './presets.ts';
import { answerJson } from '../../testing/broker-fixture.ts';
import { createManualClock, type ManualClock, settle } from '../../../../../test/kit/manual-clock.ts';

const issuer = 'https://idp.example.com';
const key = createTestKey('ES256', { kid: 'k', alg: 'ES256' });
const document = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  jwks_uri: `${issuer}/jwks`,
  token_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
};

function connect(answers: Record<string, FetchOutcome>, options: Partial<IdpConnectionOptions> = {}) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const asked: string[] = [];
  const idp = connectIdp(
    {
      issuer,
      metadataUrl: '',
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
      fetcher: {
        fetch(request) {
          asked.push(request.url);
          return Promise.resolve(
            answers[request.url] ?? { ok: false, code: 'unreachable', message: `${request.url} is down` },
          );
        },
        close: () => Promise.resolve(),
      },
      log: createLog({
        level: 'info',
        format: 'json',
        destination: { write: (line) => lines.push(JSON.parse(line) as never) },
      }),
      ...options,
    },
    { clock, random: () => 0 },
  );
  return { idp, clock, lines, asked, flows: () => lines.filter((line) => line['msg'] === 'the login flow is chosen') };
}

const metadataUrl = `${issuer}/.well-known/oauth-authorization-server`;
const working = (): Record<string, FetchOutcome> => ({
  [metadataUrl]: answerJson(document),
  [`${issuer}/jwks`]: answerJson({ keys: [key.publicJwk] }),
});
const sign = (clock: ManualClock, claims: object = {}): Promise<string> =>
  signWithJose(
    key,
    { alg: 'ES256', kid: 'k' },
    { iss: issuer, aud: 'a', sub: 's', exp: clock.now() / 1_000 + 60, ...claims },
  );

describe('connectIdp', () => {
  test('finds metadata and keys by itself, and validates with them', async () => {
    const { idp, clock } = connect(working());
    assert.equal(idp.hasKeys, false);
    assert.equal(await idp.loadKeys!(), undefined);
    assert.equal(idp.hasKeys, true);
    const state = await idp.getMetadata();
    assert.ok(state.ok && state.url === metadataUrl);
    assert.equal((await idp.validator.validate(await sign(clock), ['a'])).ok, true);
    assert.equal((await idp.validator.validate(await sign(clock), ['b'])).ok, false);
    idp.close();
    assert.deepEqual(clock.pendingDelays(), []);
  });

  test('required claims come as JSON values', async () => {
    const { idp, clock } = connect(working(), {
      requiredClaims: [{ name: 'level', values: ['2', '"high"'] } as never],
    });
    await idp.loadKeys!();
    assert.equal((await idp.validator.validate(await sign(clock, { level: 2 }), ['a'])).ok, true);
    assert.equal((await idp.validator.validate(await sign(clock, { level: '2' }), ['a'])).ok, false);
    assert.equal((await idp.validator.validate(await sign(clock, { level: ['high'] }), ['a'])).ok, true);
    idp.close();
  });

  test('says the flow and its reason once, and again only when it changes', async () => {
    const answers = working();
    const { idp, clock, flows } = connect(answers);
    assert.equal(idp.getFlow(), undefined);
    await settle();
    assert.equal(idp.getFlow()?.flow, 'Facade');
    await clock.advance(480_000);
    assert.equal(flows().length, 1);
    assert.equal(flows()[0]!['policies'], 'default/policy');
    answers[metadataUrl] = answerJson({ ...document, authorization_response_iss_parameter_supported: true });
    await clock.advance(480_000);
    assert.equal(idp.getFlow()?.flow, 'Broker');
    assert.deepEqual(
      flows().map((line) => line['flow']),
      ['Facade', 'Broker'],
    );
    idp.close();
  });

  test('an IdP that is down from the start: no keys, no metadata, and both say why', async () => {
    const { idp } = connect({}, { flow: 'Broker' });
    const refusal = await idp.loadKeys!();
    assert.equal(refusal?.reason, 'keys_unavailable');
    assert.match(refusal.operatorDetail!, /is down/);
    assert.ok(refusal.retryAfterSeconds! >= 1);
    const state = await idp.getMetadata();
    assert.ok(!state.ok && state.retryAfterSeconds >= 1);
    assert.equal(idp.getFlow()?.flow, 'Broker');
    idp.close();
  });

  test('comes up when the IdP does', async () => {
    const answers: Record<string, FetchOutcome> = {};
    const { idp, clock } = connect(answers);
    await settle();
    assert.equal(idp.hasKeys, false);
    Object.assign(answers, working());
    for (let second = 0; second < 5 && !idp.hasKeys; second += 1) await clock.advance(1_000);
    assert.equal(idp.hasKeys, true);
    idp.close();
  });

  test('keys from elsewhere need no metadata', async () => {
    const jwks = JSON.stringify({ keys: [key.publicJwk] });
    const inline = connect({}, { keys: { kind: 'inline', document: jwks } });
    assert.equal(inline.idp.hasKeys, true);
    inline.idp.close();
    const url = connect(
      { 'https://keys.example/jwks': answerJson({ keys: [key.publicJwk] }) },
      {
        keys: { kind: 'url', url: 'https://keys.example/jwks', allowInsecureHttp: false },
      },
    );
    assert.equal(await url.idp.loadKeys!(), undefined);
    url.idp.close();
  });

  test('endpoints of a Service are asked in turn', async () => {
    let urls: readonly string[] = [];
    const { idp, clock } = connect(
      { 'http://10.0.0.2/jwks': answerJson({ keys: [key.publicJwk] }) },
      {
        keys: { kind: 'endpoints', listUrls: () => urls },
      },
    );
    assert.match((await idp.loadKeys!())!.operatorDetail!, /no ready endpoint/);
    urls = ['http://10.0.0.1/jwks', 'http://10.0.0.2/jwks'];
    for (let round = 0; round < 4 && !idp.hasKeys; round += 1) await clock.advance(4_000);
    assert.equal(idp.hasKeys, true);
    idp.close();
  });

  test('metadata without jwks_uri says what to set', async () => {
    const { jwks_uri: _left, ...keyless } = document;
    const { idp } = connect({ [metadataUrl]: answerJson(keyless) });
    assert.match((await idp.loadKeys!())!.operatorDetail!, /no jwks_uri: set jwks/);
    idp.close();
  });
});

describe('an identity provider without metadata', () => {
  const options = { preset: findPreset('GitHub')!, issuer: 'https://github.com', flow: 'Issuer' as const };

  test('is connected without a fetch, and without keys', async () => {
    const { idp, asked, lines, clock } = connect({}, options);
    const state = await idp.getMetadata();
    assert.equal(state.ok && state.metadata.userinfo_endpoint, 'https://api.github.com/user');
    assert.deepEqual(idp.getFlow(), {
      flow: 'Issuer',
      reason: 'the gateway issues the tokens; the identity provider only says who somebody is',
    });
    await settle();
    await clock.advance(3_600_000);
    await settle();
    assert.deepEqual(asked, []);
    assert.deepEqual(
      lines.map(({ msg, policies }) => [msg, policies]),
      [['the login flow is chosen', 'default/policy']],
    );
    assert.equal(idp.hasKeys, false);
    assert.equal(idp.keyHealth, undefined, 'that there are none is no trouble');
    assert.equal((await idp.loadKeys!())?.reason, 'keys_unavailable');
    assert.equal(idp.keys!.refetch(), undefined);
    idp.close();
  });

  test('endpoints of the policy, and keys where it names some', async () => {
    const endpoints = { authorization: `${issuer}/a`, token: `${issuer}/t`, userinfo: `${issuer}/u` };
    const jwks = { [`${issuer}/jwks`]: answerJson({ keys: [key.publicJwk] }) };
    const keys = { kind: 'url' as const, url: `${issuer}/jwks`, allowInsecureHttp: false };
    const { idp, asked } = connect(jwks, { endpoints, keys, flow: 'Issuer' });
    await idp.loadKeys!();
    assert.equal(idp.keys!.getKeys().ok, true);
    assert.deepEqual(asked, [`${issuer}/jwks`]);
    const state = await idp.getMetadata();
    assert.equal(state.ok && state.metadata.token_endpoint, `${issuer}/t`);
    idp.close();
  });

  test('endpoints that must not be called are reported', async () => {
    const endpoints = { authorization: `${issuer}/a`, token: 'http://idp.example.com/t', userinfo: `${issuer}/u` };
    const { idp } = connect({}, { endpoints, flow: 'Issuer' });
    assert.match(JSON.stringify(await idp.getMetadata()), /token_endpoint that is not https/);
    idp.close();
  });
});
