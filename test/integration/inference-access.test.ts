// Policies in front of a pool are those in front of any route: tokens and rules are judged before the picker hears of a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashBody } from '../inference/fake-model-server.ts';
import { pick } from '../inference/picker-scripts.ts';
import { resource, valuesOf } from './gateway-fixture.ts';
import {
  readArrival,
  readReason,
  startInferenceGateway,
  startModel,
  startPicker,
  waitUntilIdle,
} from './inference-fixture.ts';
import { bearerOf, jwtPolicyOf } from './jwt-authentication-fixture.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';

const options = { timeout: 180_000 };
const issuer = createIssuer('https://issuer.example');
const target = { kind: 'HTTPRoute', name: 'pool' } as const;

test('JWT authentication: a request without a valid token does not reach the picker', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    resources: [
      jwtPolicyOf('tokens', target, {
        providers: [providerOf('own', issuer)],
        claimsToHeaders: [{ claim: 'sub', header: 'x-user' }],
      }),
    ],
  });
  const ask = (headers: Record<string, string>) => gateway.ask({ method: 'POST', headers }, 'prompt');
  assert.equal(readReason(await ask({})), '401 missing_token');
  assert.equal(readReason(await ask(bearerOf(await issuer.sign({ aud: 'other' })))), '401 token_wrong_audience');
  assert.equal(readReason(await ask(bearerOf('nonsense'))), '401 token_malformed');
  assert.equal(picker.calls.length, 0);
  const arrival = readArrival(await ask({ ...bearerOf(await issuer.sign()), 'x-user': 'mallory' }));
  assert.equal(arrival.body_sha256, hashBody('prompt'));
  assert.deepEqual(valuesOf(arrival.headers, 'x-user'), ['alice']);
  // The picker sees what goes upstream: the name from the claim, and no token.
  assert.deepEqual(
    [picker.calls[0]!.headers.get('x-user'), picker.calls[0]!.headers.has('authorization')],
    ['alice', false],
  );
  await waitUntilIdle(gateway, [picker], [server]);
});

test('claim rules: a denied request gets 403, and the picker is not asked', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const rules = resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'rules', {
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', ...target }],
      traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ["'models' in jwt.groups"] } } },
    },
  });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    resources: [jwtPolicyOf('tokens', target, { providers: [providerOf('own', issuer)] }), rules],
  });
  const ask = async (groups: readonly string[]) =>
    gateway.ask({ method: 'POST', headers: bearerOf(await issuer.sign({ groups })) }, 'prompt');
  assert.equal(readReason(await ask(['sales'])), '403 rbac_denied');
  assert.equal(picker.calls.length, 0);
  assert.equal(readArrival(await ask(['sales', 'models'])).served_by, server.name);
  assert.equal(picker.calls.length, 1);
});

test('filters of the route come first: the picker sees what goes upstream', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: pick({ endpoints: server.endpoint }) });
  const filters = [
    {
      type: 'RequestHeaderModifier',
      requestHeaderModifier: { set: [{ name: 'x-set', value: 'yes' }], remove: ['x-gone'] },
    },
    { type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/v1' } } },
    { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name: 'x-answered', value: 'yes' }] } },
  ];
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    rule: { filters },
  });
  const answer = await gateway.ask({ method: 'POST', path: '/models', headers: { 'x-gone': 'gone' } }, 'prompt');
  const { headers } = picker.calls[0]!;
  assert.deepEqual([headers.get(':path'), headers.get('x-set'), headers.has('x-gone')], ['/v1/models', 'yes', false]);
  assert.equal(readArrival(answer).url, '/v1/models');
  assert.equal(answer.headers['x-answered'], 'yes');
});

test('time-outs of the route cover the picker too', options, async (t) => {
  const server = await startModel(t);
  const picker = await startPicker(t, { script: (call) => call.drain() });
  const gateway = await startInferenceGateway(t, {
    endpoints: [server.port],
    pickers: [picker.port],
    rule: { timeouts: { request: '300ms' } },
  });
  assert.equal(readReason(await gateway.ask({ method: 'POST' }, 'prompt')), '504 request_timeout');
  await waitUntilIdle(gateway, [picker], [server]);
});
