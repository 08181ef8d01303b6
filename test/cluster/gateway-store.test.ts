// The flow Issuer on a cluster: two pods with signing keys that came over TLS, and one Redis that GatewayParameters of the class name. Logins, sessions, a password
// that changes, and a server that goes and comes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { decodeJwt } from 'jose';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient, listTools } from '../idp/flow-client.ts';
import { type OidcProviderIdp, startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { initialize } from '../idp/stepwise-login.ts';
import { type RedisServer, startRedisServer } from '../kit/redis-server.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import {
  createGateway,
  createPolicy,
  createProxyBackend,
  createRoute,
  createSampleMcp,
  createTlsSecret,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { listGatewayPods, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { createNodeImage } from './image-table.ts';
import { installController } from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('gateway-store');
const authority = createAuthority('the CA of the company');
const password = 'the-password-of-the-store';
const className = 'with-store';
let cluster: Cluster;
let redis: RedisServer;
let relay: Server;
let idp: OidcProviderIdp;
let url: string;

/** Where pods reach the server, which itself listens on loopback only. */
async function startRelay(host: string, port: number): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect({ port, host: '127.0.0.1' });
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    client.pipe(upstream).pipe(client);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  return server;
}

/** What each pod says of its store. */
async function readStoreUp(): Promise<readonly number[]> {
  const pods = await listGatewayPods(cluster, 'web');
  return Promise.all(
    pods.map(async ({ status }) => {
      const text = await (await fetch(`http://${status.podIP ?? ''}:15020/metrics`)).text();
      return Number(/^mcp_gateway_store_up (\d)$/m.exec(text)?.[1] ?? Number.NaN);
    }),
  );
}

const waitForStore = (isUp: boolean): Promise<unknown> =>
  cluster.waitFor(
    async () => {
      const all = await readStoreUp();
      return all.length === 2 && all.every((each) => each === Number(isUp));
    },
    { what: `both pods say that the store is ${isUp ? 'up' : 'down'}`, timeoutMs: 180_000 },
  );

const createPassword = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'gateway-store', namespace },
  stringData: { password: value },
});

before(async () => {
  setDefaultCACertificates([...getCACertificates(), authority.cert]);
  cluster = await joinCluster({ images: { 'sample-mcp': createNodeImage('test/cluster/serve-sample-mcp.ts') } });
  const { host, lastLoadBalancer: address } = cluster.addresses;
  url = `https://${address}/tickets`;
  redis = await startRedisServer({ settings: { requirepass: password, appendonly: 'yes', appendfsync: 'always' } });
  relay = await startRelay(host, redis.port);
  idp = await startOidcProviderIdp({
    listen: { address: host, certificate: createCertificate({ names: [host], issuer: authority }) },
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'a-secret-of-the-gateway',
        redirect_uris: [`https://${address}/.oauth/tickets/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
  });
  await installController(cluster, { values: { controller: { xds: { tls: { enabled: true, generate: true } } } } });
  const parametersRef = { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'with-store', namespace };
  await cluster.apply([
    ...createSampleMcp('tickets'),
    createTlsSecret('web', namespace, createCertificate({ names: [address], issuer: authority })),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'company-ca' }, data: { 'ca.crt': authority.cert } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'idp' }, stringData: { secret: 'a-secret-of-the-gateway' } },
    createPassword(password),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'with-store', namespace },
      spec: {
        replicas: 2,
        shutdown: { drain: '1s' },
        store: {
          redis: {
            url: `redis://${host}:${(relay.address() as AddressInfo).port}/0`,
            passwordRef: { name: 'gateway-store', key: 'password' },
          },
        },
      },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: className },
      spec: { controllerName: 'gateway.proxy/controller', parametersRef },
    },
    createGateway('web', {
      gatewayClassName: className,
      addresses: [{ type: 'IPAddress', value: address }],
      listeners: [{ name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'web' }] } }],
    }),
    createRoute('tickets', { path: '/tickets', to: toProxyBackend('tickets') }),
    createProxyBackend('tickets', { service: toService('tickets') }),
    createPolicy(
      'tickets',
      { kind: 'ProxyBackend', name: 'tickets' },
      {
        backend: {
          mcp: {
            authentication: {
              flow: 'Issuer',
              issuer: idp.issuer,
              jwks: { caCertificateRef: { name: 'company-ca' } },
              registration: { mode: 'Shared', clientId: 'gateway', clientSecretRef: { name: 'idp', key: 'secret' } },
              resourceMetadata: { resource: url },
            },
          },
        },
      },
    ),
  ]);
  await waitUntilReachable(cluster, 'web', namespace, 443);
  await waitUntilWell(cluster, [
    { kind: 'Gateway', name: 'web' },
    { kind: 'ProxyPolicy', name: 'tickets' },
  ]);
});
after(async () => {
  await cluster?.delete({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: className },
  });
  relay?.close();
  await redis?.stop();
  await idp?.close();
  await leaveCluster();
});

test('a login and its refreshes, at whichever pod the load balancer chooses; an older refresh token ends the session', async () => {
  await waitForStore(true);
  const client = await new FlowClient(url).connect(new BrowserAgent());
  const { iss, aud } = decodeJwt(client.tokens!.access_token);
  assert.deepEqual([iss, aud], [url, url]);
  const first = client.tokens!.refresh_token!;
  const session = await initialize(client);
  for (let round = 0; round < 8; round += 1) {
    assert.equal((await client.post(listTools, session)).status, 200);
    await client.refresh();
  }
  const keys = await redis.run('KEYS', '*');
  assert.match(keys, /mcp-gatehouse:gateway-store/);
  assert.doesNotMatch(keys, /alice/);
  assert.equal((await client.tryRefresh({ refresh_token: first })).status, 400);
  assert.equal((await client.tryRefresh()).status, 400);
});

test('a server that ends: who is logged in stays, the pods stay ready, and it goes on when the server is back', async () => {
  const client = await new FlowClient(url).connect(new BrowserAgent());
  const session = await initialize(client);
  await redis.kill();
  await waitForStore(false);
  const answer = await client.tryRefresh();
  assert.deepEqual([answer.status, answer.json()['error']], [503, 'temporarily_unavailable'], answer.body);
  assert.equal((await client.post(listTools, session)).status, 200);
  for (const { status } of await listGatewayPods(cluster, 'web'))
    assert.ok(status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'));
  await redis.restart();
  await waitForStore(true);
  await client.refresh();
});

test('a new password in the Secret is used without a new pod', async () => {
  const client = await new FlowClient(url).connect(new BrowserAgent());
  const names = (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name).toSorted();
  await redis.kill();
  await redis.restart({ requirepass: 'another-password' });
  await waitForStore(false);
  await cluster.apply(createPassword('another-password'));
  await waitForStore(true);
  await client.refresh();
  assert.deepEqual((await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name).toSorted(), names);
});
