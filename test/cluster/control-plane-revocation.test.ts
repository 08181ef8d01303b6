// What was allowed and is not any more: a grant that is revoked, a Secret of a policy that is deleted, a label that is removed. Each is enforced by the gateway, told in
// the status, and over when it is given back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { createSigningKey } from '../idp/signing-keys.ts';
import { createCertificate, type TestCertificate } from '../self-signed-certificate.ts';
import {
  createEcho,
  createGateway,
  createGrant,
  createNamespace,
  createPolicy,
  createProxyBackend,
  createRoute,
  createTlsSecret,
  plainListener,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController } from './installed-controller.ts';
import { listConditions, waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('revocation');
const gatewayApi = 'gateway.networking.k8s.io';
const webGateway: ResourceName = { kind: 'Gateway', name: 'web' };
const httpsListener = {
  name: 'https',
  port: 443,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: 'web', namespace: 'certificates' }] },
};
const selectingListener = {
  name: 'teams',
  port: 8080,
  protocol: 'HTTP',
  allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { web: 'allowed' } } } },
};
const gateway = createGateway('web', { listeners: [plainListener, httpsListener, selectingListener] });
const certificateGrant = createGrant(
  'web',
  'certificates',
  { group: gatewayApi, kind: 'Gateway', namespace },
  'Secret',
);
const certificate = createCertificate({ names: ['web.example.com'] });
let cluster: Cluster;
let address: string;

before(async () => {
  cluster = await joinCluster({ furtherNamespaces: ['certificates', 'shop', 'team'] });
  await installController(cluster);
  await cluster.apply([
    createNamespace('certificates'),
    createNamespace('shop'),
    createNamespace('team', { web: 'allowed', tenant: 'yes' }),
    ...createEcho('echo'),
    ...createEcho('echo', 'shop'),
    ...createEcho('echo', 'team'),
    createTlsSecret('web', 'certificates', certificate),
    certificateGrant,
    gateway,
    createRoute('open', { path: '/open', to: toService('echo') }),
  ]);
  await waitUntilWell(cluster, [webGateway, { kind: 'HTTPRoute', name: 'open' }]);
  address = await waitUntilReachable(cluster, 'web');
});
after(leaveCluster);

async function ask(path: string, port = 80): Promise<number> {
  const answer = await fetch(`http://${address}:${port}${path}`, { headers: { connection: 'close' } });
  await answer.arrayBuffer();
  return answer.status;
}

const waitForStatus = (path: string, status: number, port?: number): Promise<boolean> =>
  cluster.waitFor(async () => (await ask(path, port)) === status, {
    what: `${path} answers ${status}`,
  });

/** The number of the certificate that port 443 shows; undefined: there is no handshake. */
function readSerialNumber(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: 443, rejectUnauthorized: false, timeout: 5_000 }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber);
      socket.destroy();
    });
    const fail = (): void => {
      resolve(undefined);
      socket.destroy();
    };
    socket.on('error', fail).on('timeout', fail).on('close', fail);
  });
}

async function waitForHandshakes(work: boolean): Promise<void> {
  await cluster.waitFor(async () => ((await readSerialNumber()) !== undefined) === work, {
    what: work ? 'port 443 has a certificate' : 'port 443 has none',
  });
}

for (const [name, resources] of [
  ['an HTTPRoute', [createRoute('shop', { path: '/shop', to: toService('echo', 80, { namespace: 'shop' }) })]],
  [
    'a ProxyBackend',
    [
      createProxyBackend('shop', { service: toService('echo', 80, { namespace: 'shop' }) }),
      createRoute('shop', { path: '/shop', to: toProxyBackend('shop') }),
    ],
  ],
] as const) {
  test(`a ReferenceGrant from ${name} to a Service is revoked and given again`, async () => {
    const isRoute = resources.length === 1;
    const group = isRoute ? gatewayApi : 'gateway.proxy';
    const kind = isRoute ? 'HTTPRoute' : 'ProxyBackend';
    const grant = createGrant('shop', 'shop', { group, kind, namespace }, 'Service');
    await cluster.apply([grant, ...resources]);
    await waitUntilWell(cluster, [{ kind, name: 'shop' }]);
    await waitForStatus('/shop', 200);

    await cluster.delete(grant);
    await waitForStatus('/shop', 500);
    await waitForCondition(
      cluster,
      { kind, name: 'shop' },
      { type: 'ResolvedRefs', status: 'False', reason: 'RefNotPermitted', message: /ReferenceGrant/ },
    );
    assert.equal(await ask('/open'), 200);

    await cluster.apply(grant);
    await waitForStatus('/shop', 200);
    await waitUntilWell(cluster, [{ kind, name: 'shop' }]);
    await cluster.delete([...resources]);
    await waitForStatus('/shop', 404);
  });
}

test('a ReferenceGrant from a Gateway to a certificate is revoked and given again', async () => {
  await waitForHandshakes(true);
  await cluster.delete(certificateGrant);
  await waitForHandshakes(false);
  const part = 'listener https';
  await waitForCondition(cluster, webGateway, {
    part,
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'RefNotPermitted',
  });
  await waitForCondition(cluster, webGateway, { part, type: 'Programmed', status: 'False' });
  assert.equal(await ask('/open'), 200, 'the other listeners do not suffer');
  await cluster.apply(certificateGrant);
  await waitForHandshakes(true);
  await waitUntilWell(cluster, [webGateway]);
});

test('a certificate is replaced, its Secret is deleted, and made again', async () => {
  const secret = (content: TestCertificate): object => createTlsSecret('web', 'certificates', content);
  const shown = await readSerialNumber();
  const next = createCertificate({ names: ['web.example.com'] });
  await cluster.apply(secret(next));
  await cluster.waitFor(async () => ![shown, undefined].includes(await readSerialNumber()), {
    what: 'the new certificate is shown',
  });

  // What is missing is kept; fault-listener-certificate.test.ts has more of it.
  await cluster.delete(secret(next));
  const part = 'listener https';
  const told = await waitForCondition(cluster, webGateway, {
    part,
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'InvalidCertificateRef',
  });
  assert.match(told.message, /Secret certificates\/web/);
  await waitForCondition(cluster, webGateway, { part, type: 'Programmed', status: 'True' });
  await waitForHandshakes(true);

  await cluster.apply(secret(next));
  await waitForHandshakes(true);
  await waitUntilWell(cluster, [webGateway]);
});

test('a Secret that a policy needs is deleted: its route is closed, and heals with it', async () => {
  const policy: ResourceName = { kind: 'ProxyPolicy', name: 'mcp' };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'registration', namespace },
    stringData: { token: 'initial-access-token' },
  };
  const authentication = {
    issuer: 'https://idp.example.com',
    resourceMetadata: { resource: 'https://mcp.example.com/mcp' },
    jwks: { inline: JSON.stringify({ keys: [(await createSigningKey()).publicJwk] }) },
    registration: { initialAccessTokenRef: { name: 'registration', key: 'token' } },
  };
  const resources = [
    createProxyBackend('mcp', { service: toService('echo') }),
    createPolicy('mcp', { kind: 'ProxyBackend', name: 'mcp' }, { backend: { mcp: { authentication } } }),
    createRoute('mcp', { path: '/mcp', to: toProxyBackend('mcp') }),
  ];
  await cluster.apply([secret, ...resources]);
  await waitForStatus('/mcp', 401);
  await cluster.delete(secret);
  await waitForStatus('/mcp', 500);
  await waitForCondition(cluster, policy, {
    type: 'Accepted',
    status: 'False',
    message: /Secret revocation\/registration/,
  });
  await cluster.apply(secret);
  await waitForStatus('/mcp', 401);
  await waitForCondition(cluster, policy, { type: 'Accepted', status: 'True' });
  await cluster.delete(resources);
});

test('a namespace loses the label that a listener asks for, and gets it back', async () => {
  const route: ResourceName = { kind: 'HTTPRoute', name: 'team', namespace: 'team' };
  const parent = { name: 'web', namespace, sectionName: 'teams' };
  await cluster.apply(
    createRoute('team', { namespace: 'team', path: '/team', gateway: parent, to: toService('echo') }),
  );
  await waitUntilWell(cluster, [route]);
  await waitForStatus('/team', 200, 8080);

  await cluster.kubectl(['label', 'namespace', 'team', 'web-']);
  await waitForStatus('/team', 404, 8080);
  await waitForCondition(cluster, route, { type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners' });

  await cluster.kubectl(['label', 'namespace', 'team', 'web=allowed']);
  await waitForStatus('/team', 200, 8080);
  await waitUntilWell(cluster, [route, webGateway]);
});

test('a namespace leaves those that the controller looks after, and comes back', async () => {
  const route: ResourceName = { kind: 'HTTPRoute', name: 'team', namespace: 'team' };
  const selectors = [
    { matchLabels: { tenant: 'yes' } },
    { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [namespace, 'certificates'] }] },
  ];
  const environment = { MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS: JSON.stringify(selectors) };
  await installController(cluster, { environment });
  // Whoever leads now has looked at everything once it has told about something new.
  await cluster.apply(createRoute('news', { path: '/news', to: toService('echo') }));
  await waitUntilWell(cluster, [{ kind: 'HTTPRoute', name: 'news' }, route, webGateway]);
  assert.equal(await ask('/team', 8080), 200);

  await cluster.kubectl(['label', 'namespace', 'team', 'tenant-']);
  await waitForStatus('/team', 404, 8080);
  await cluster.waitForObject(locateResource(route), (object) => listConditions(object).length === 0, {
    what: 'nothing of this controller is in the status of the route any more',
  });

  await cluster.kubectl(['label', 'namespace', 'team', 'tenant=yes']);
  await waitForStatus('/team', 200, 8080);
  await waitUntilWell(cluster, [route]);

  // A Gateway that is not looked after any more goes on with what it has, and says that nobody looks after it.
  await cluster.apply([
    createGateway('own', { namespace: 'team' }),
    createRoute('own', { namespace: 'team', gateway: 'own', to: toService('echo') }),
  ]);
  const own: ResourceName = { kind: 'Gateway', name: 'own', namespace: 'team' };
  await waitUntilWell(cluster, [own, { ...own, kind: 'HTTPRoute' }]);
  const ownAddress = await waitUntilReachable(cluster, 'own', 'team');
  await cluster.kubectl(['label', 'namespace', 'team', 'tenant-']);
  const told = await waitForCondition(cluster, own, { type: 'Programmed', status: 'Unknown' });
  assert.match(told.message, /discoveryNamespaceSelectors/);
  assert.equal((await fetch(`http://${ownAddress}/`)).status, 200);
});
