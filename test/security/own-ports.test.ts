// A backend or an identity provider of somebody else's choice never leads to the gateway's own ports; and where the gateway is deployed, not to its machine at all.
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { ask, readAccessLog, readError, serviceOf } from '../integration/gateway-fixture.ts';
import { policyResource } from '../idp/protected-gateway.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const backendAt = (host: string, port: number): object => ({
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyBackend',
  metadata: { name: 'inside' },
  spec: { mcp: { targets: [{ name: 'inside', static: { host, port, path: '/config' } }] } },
});

let upstream: RecordingUpstream;
before(async () => {
  upstream = await startMcpUpstream();
});
after(() => upstream?.close());

/** What a GET through the gateway is answered once the last log line is about it. */
async function askThrough(gateway: GatewayRun, path = '/inside'): Promise<{ error: string; detail: string }> {
  const answer = await ask(gateway.port, { path });
  const id = answer.headers['x-request-id'];
  await waitFor('it is in the log', () => readAccessLog(gateway).some((line) => line['request_id'] === id));
  const line = readAccessLog(gateway).find((each) => each['request_id'] === id)!;
  return { error: readError(answer), detail: String(line['detail']) };
}

describe("the gateway's own ports", () => {
  let gateway: GatewayRun;
  before(async () => {
    gateway = await runGateway({ resources: (port) => [gatewayResource(port)], flags: ['--log-format', 'json'] });
  });
  after(() => gateway?.stop());

  const own = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const hosts = [
    '127.0.0.1',
    '127.0.0.2',
    'localhost',
    'LOCALHOST',
    'foo.localhost',
    '0.0.0.0',
    '::1',
    '::',
    '::ffff:127.0.0.1',
  ];
  for (const host of own === undefined ? hosts : [...hosts, own]) {
    for (const port of ['adminPort', 'metricsPort', 'readinessPort'] as const) {
      test(`${port} is no backend by the name ${host}`, async () => {
        gateway.write([
          gatewayResource(gateway.port),
          routeResource('inside', [ruleTo('/inside', 'inside')], { hostnames: [`${port.toLowerCase()}.localhost`] }),
          backendAt(host, gateway[port]),
        ]);
        const request = { path: '/inside', headers: { host: `${port.toLowerCase()}.localhost` } };
        const answer = await waitFor('the backend is tried', async () => {
          const got = await ask(gateway.port, request);
          return got.status === 404 ? undefined : got;
        });
        assert.ok(answer.status >= 500, `${answer.status} ${answer.body}`);
        assert.doesNotMatch(answer.body, /listeners|mcp_gateway_|"ready"/);
      });
    }
  }

  test('nor one behind a Service', async () => {
    gateway.write([
      gatewayResource(gateway.port),
      ...serviceOf('inside', [gateway.adminPort]),
      routeResource('inside', [
        { matches: [{ path: { type: 'PathPrefix', value: '/service' } }], backendRefs: [{ name: 'inside', port: 80 }] },
      ]),
    ]);
    await waitFor('the route is there', async () => (await ask(gateway.port, { path: '/service' })).status !== 404);
    const { error, detail } = await askThrough(gateway, '/service');
    assert.equal(error, '502 upstream_unreachable');
    assert.match(detail, /is the gateway's own port \d+; no connection is made/);
  });

  test('nor an identity provider', async () => {
    gateway.write([
      gatewayResource(gateway.port),
      routeResource('login', [ruleTo('/login', 'login')]),
      backendResource('login', upstream.port),
      policyResource('login', { issuer: `http://127.0.0.1:${gateway.adminPort}`, flow: 'Broker' }),
    ]);
    const metadata = await waitFor('the policy is in force', async () => {
      const got = await ask(gateway.port, { path: '/.well-known/oauth-authorization-server/login' });
      return got.status === 404 ? undefined : got;
    });
    assert.equal(metadata.status, 503);
    await waitFor('the log says why', () => /own port/.test(gateway.readOutput()));
  });
});

describe('deployed for others (--no-local-upstreams)', () => {
  let gateway: GatewayRun;
  before(async () => {
    gateway = await runGateway({
      resources: (port) => [
        gatewayResource(port),
        routeResource('all', [ruleTo('/address', 'address'), ruleTo('/name', 'name'), ruleTo('/metadata', 'metadata')]),
        backendResource('address', upstream.port),
        { ...backendAt('localhost', upstream.port), metadata: { name: 'name' } },
        { ...backendAt('169.254.169.254', 80), metadata: { name: 'metadata' } },
      ],
      flags: ['--log-format', 'json', '--no-local-upstreams'],
    });
  });
  after(() => gateway?.stop());

  for (const [path, why] of [
    ['/address', /a loopback address, which is not allowed here/],
    ['/name', /a loopback address, which is not allowed here/],
    ['/metadata', /link-local address, where cloud metadata services live, which is not allowed here/],
  ] as const)
    test(`${path} is not connected to`, async () => {
      const seen = upstream.requests.length;
      const { error, detail } = await askThrough(gateway, path);
      assert.equal(error, '502 upstream_unreachable');
      assert.match(detail, why);
      assert.equal(upstream.requests.length, seen);
    });
});
