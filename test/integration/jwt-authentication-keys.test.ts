// The keys of JWT providers while a gateway serves: fetched at once, rotated, gone, back, moved, and kept when something else changes.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, describe, test } from 'node:test';
import { createCertificate } from '../self-signed-certificate.ts';
import {
  ask,
  gatewayOf,
  listenOnLoopback,
  readEcho,
  readError,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
} from './gateway-fixture.ts';
import { bearerOf, jwtPolicyOf, type KeyServer, startKeyServer } from './jwt-authentication-fixture.ts';
import { routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { createIssuer, type TestIssuer } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';

interface Setup {
  readonly upstream: Upstream;
  readonly gateway: GatewayRun;
  /** Replaces the configuration, and resolves when it is in force. */
  readonly configure: (jwtAuthentication: object, others?: readonly object[]) => Promise<void>;
  /** "200", or status and reason. */
  readonly send: (token: string) => Promise<string>;
}

/** A gateway with one route and one policy on it. */
async function setUp(t: TestContext, jwtAuthentication: object, others: readonly object[] = []): Promise<Setup> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const list = (port: number, policy: object, more: readonly object[]): object[] => [
    gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
    routeResource('api', [rule('/', [serviceRef('main')])]),
    ...serviceOf('main', [upstream.port]),
    jwtPolicyOf('jwt', { kind: 'HTTPRoute', name: 'api' }, policy),
    ...more,
  ];
  let listener = 0;
  const gateway = await runGateway({ resources: (port) => list((listener = port), jwtAuthentication, others) });
  t.after(() => gateway.stop());
  return {
    upstream,
    gateway,
    async configure(policy, more = others) {
      const version = await gateway.readMetric('mcp_gateway_config_version');
      gateway.write(list(listener, policy, more));
      await waitFor(async () => (await gateway.readMetric('mcp_gateway_config_version')) > version);
    },
    async send(token) {
      const answer = await ask(gateway.port, { path: '/', headers: bearerOf(token) });
      return answer.status === 200 ? '200' : readError(answer);
    },
  };
}

async function serveKeys(t: TestContext, document: string | undefined): Promise<KeyServer> {
  const server = await startKeyServer(document);
  t.after(() => server.close());
  return server;
}

const fetchedFrom = ({ issuer }: TestIssuer, jwks: object): object => ({ providers: [{ name: 'corp', issuer, jwks }] });

describe('keys of a provider in a file', () => {
  test('are followed; a broken file leaves the previous keys in force, one missing at the start closes the route', async (t) => {
    const corp = createIssuer('https://corp.example');
    const folder = await mkdtemp(join(tmpdir(), 'key-file-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'keys.json');
    const { gateway, send } = await setUp(t, fetchedFrom(corp, { file }));
    const old = await corp.sign();
    assert.equal(await send(old), '500 policy_invalid');
    await writeFile(file, corp.jwks);
    await waitFor('the file is read', async () => (await send(old)) === '200');
    corp.rotate('two');
    const fresh = await corp.sign();
    assert.equal(await send(fresh), '401 token_unknown_key');
    await writeFile(file, corp.jwks);
    await waitFor('the new key is in force', async () => (await send(fresh)) === '200');
    assert.equal(await send(old), '401 token_unknown_key');
    await writeFile(file, 'oops');
    await waitFor('the log says so', () => gateway.readOutput().includes(`the file ${file} is not valid JSON`));
    assert.match(gateway.readOutput(), /keeping the previous version/);
    assert.equal(await send(fresh), '200');
  });
});

describe('keys of a provider', () => {
  test('are fetched when the configuration arrives, not when a request does', async (t) => {
    const corp = createIssuer('https://corp.example');
    const keys = await serveKeys(t, corp.jwks);
    const { send } = await setUp(t, fetchedFrom(corp, { url: keys.url }));
    await waitFor(() => keys.fetches === 1);
    for (let count = 0; count < 5; count += 1) assert.equal(await send(await corp.sign()), '200');
    assert.equal(keys.fetches, 1);
  });

  test('may rotate while requests are served', async (t) => {
    const corp = createIssuer('https://corp.example', { kid: 'first' });
    const keys = await serveKeys(t, corp.jwks);
    const { send } = await setUp(t, fetchedFrom(corp, { url: keys.url }));
    const old = await corp.sign();
    assert.equal(await send(old), '200');
    corp.rotate('second');
    keys.document = corp.jwks;
    // The new kid is not known: that is worth one fetch, whoever asks how often.
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => corp.sign({ sub: `user-${index}` })));
    assert.deepEqual(new Set(await Promise.all(tokens.map(send))), new Set(['200']));
    assert.equal(keys.fetches, 2);
    // What was verified with the old key is not remembered beyond it.
    assert.equal(await send(old), '401 token_unknown_key');
  });

  test('serve on when the issuer goes away after the start', async (t) => {
    const corp = createIssuer('https://corp.example');
    const keys = await serveKeys(t, corp.jwks);
    const { send } = await setUp(t, fetchedFrom(corp, { url: keys.url }));
    assert.equal(await send(await corp.sign()), '200');
    await keys.close();
    assert.equal(await send(await corp.sign({ sub: 'new' })), '200');
    assert.equal(
      await send(await corp.sign({}, { kid: 'unknown' })),
      '401 token_unknown_key',
      'and the good keys stay',
    );
    assert.equal(await send(await corp.sign({ sub: 'newer' })), '200');
  });

  test('that were never loaded close the route with 503 for these tokens, and open it when they come', async (t) => {
    const corp = createIssuer('https://corp.example');
    const keys = await serveKeys(t, 'not yet');
    const { send, upstream, gateway } = await setUp(t, fetchedFrom(corp, { url: keys.url }));
    const token = await corp.sign();
    const answer = await ask(gateway.port, { headers: bearerOf(token) });
    assert.equal(readError(answer), '503 keys_unavailable');
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.equal(readError(await ask(gateway.port)), '401 missing_token');
    assert.equal(upstream.hits, 0);
    keys.document = corp.jwks;
    await waitFor(async () => (await send(token)) === '200');
  });

  test('that are slow to come hold back their own tokens only', async (t) => {
    const [slow, quick] = [createIssuer('https://slow.example'), createIssuer('https://quick.example')];
    const keys = await serveKeys(t, undefined);
    const providers = [
      { name: 'slow', issuer: slow.issuer, jwks: { url: keys.url } },
      { name: 'quick', issuer: quick.issuer, jwks: { inline: quick.jwks } },
    ];
    const { send, gateway } = await setUp(t, { providers });
    const waiting = send(await slow.sign());
    assert.equal(await send(await quick.sign()), '200');
    assert.equal(readError(await ask(gateway.port)), '401 missing_token');
    // The fetch gives up by itself.
    assert.equal(await waiting, '503 keys_unavailable');
  });

  test('survive changes that do not concern them, and are shared by policies that want the same', async (t) => {
    const corp = createIssuer('https://corp.example');
    const keys = await serveKeys(t, corp.jwks);
    const policy = fetchedFrom(corp, { url: keys.url });
    const { send, configure, gateway } = await setUp(t, policy);
    const token = await corp.sign();
    assert.equal(await send(token), '200');
    const second = jwtPolicyOf('wide', { kind: 'Gateway', name: 'test' }, fetchedFrom(corp, { url: keys.url }));
    await configure({ ...policy, claimsToHeaders: [{ claim: 'sub', header: 'x-user' }] }, [second]);
    const echo = readEcho(await ask(gateway.port, { headers: bearerOf(token) }));
    assert.ok(echo.headers.includes('x-user'));
    assert.equal(keys.fetches, 1);
  });

  test('of a Service follow its endpoints', async (t) => {
    const corp = createIssuer('https://corp.example');
    const [first, second] = [await serveKeys(t, corp.jwks), await serveKeys(t, undefined)];
    const policy = fetchedFrom(corp, { backendRef: { name: 'idp', port: 80 }, path: '/keys' });
    const { send, configure } = await setUp(t, policy, serviceOf('idp', [first.port]));
    assert.equal(await send(await corp.sign()), '200');
    assert.equal(first.fetches, 1);
    corp.rotate('second');
    second.document = corp.jwks;
    await configure(policy, serviceOf('idp', [second.port]));
    assert.equal(second.fetches, 0, 'a change of endpoints alone is no reason to ask');
    assert.equal(await send(await corp.sign()), '200');
    assert.deepEqual([first.fetches, second.fetches], [1, 1]);
  });

  test('over TLS with a private CA', async (t) => {
    const corp = createIssuer('https://corp.example');
    const { cert, key } = createCertificate({ names: ['127.0.0.1'] });
    const server = await listenOnLoopback(
      createServer(
        { cert, key },
        (_request, response) => void response.setHeader('content-type', 'application/json').end(corp.jwks),
      ),
    );
    t.after(() => server.close());
    const authority = resource('v1', 'ConfigMap', 'idp-ca', { data: { 'ca.crt': cert } });
    const url = `https://127.0.0.1:${server.port}/keys`;
    const trusting = fetchedFrom(corp, { url, caCertificateRef: { kind: 'ConfigMap', name: 'idp-ca' } });
    const { send, configure } = await setUp(t, fetchedFrom(corp, { url }), [authority]);
    assert.equal(await send(await corp.sign()), '503 keys_unavailable', 'nobody vouches for it');
    await configure(trusting);
    await waitFor(async () => (await send(await corp.sign())) === '200');
  });
});

test('a policy that is edited is in force on the next request of an open connection', async (t) => {
  const [corp, other] = [createIssuer('https://corp.example'), createIssuer('https://other.example')];
  const of = ({ issuer, jwks }: TestIssuer): object => ({ providers: [{ name: 'a', issuer, jwks: { inline: jwks } }] });
  const { configure, gateway } = await setUp(t, of(corp));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const token = await corp.sign();
  const send = () => ask(gateway.port, { agent, headers: bearerOf(token) });
  readEcho(await send());
  await configure(of(other));
  await waitFor(async () => (await send()).status === 401);
  assert.equal(
    readError(await send()),
    '401 token_wrong_issuer',
    'a token that was remembered as good is not good any more',
  );
});
