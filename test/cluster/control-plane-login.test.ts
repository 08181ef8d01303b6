// The whole way on a cluster: a controller with its own rights, four resources, and a person who logs in through the address of the load balancer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startOidcProviderIdp, type OidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { ask } from '../idp/flow-client.ts';
import { authSdkV1, authSdkV2 } from '../idp/sdk-auth-clients.ts';
import { program } from '../kit/gateway-program.ts';
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
import { listDeployed, waitUntilReachable, waitForGatewayPod } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { createNodeImage } from './image-table.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import type { ResourceName } from './resource-paths.ts';
import { runCommand } from './run-command.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('login');
const authority = createAuthority('the CA of the company');
const resources: readonly ResourceName[] = [
  { kind: 'GatewayClass', name: 'proxy' },
  { kind: 'Gateway', name: 'web' },
  { kind: 'HTTPRoute', name: 'tickets' },
  { kind: 'ProxyBackend', name: 'tickets' },
  { kind: 'ProxyPolicy', name: 'tickets' },
];
let cluster: Cluster;
let controller: InstalledController;
let idp: OidcProviderIdp;
/** Where the load balancer is asked to be, so that a certificate can name it. */
let address: string;
let url: string;
/** Those of files before, which may have the same controller. */
let failuresBefore: readonly number[];

const countFailures = async (): Promise<readonly number[]> => [
  await controller.readMetric('mcp_gateway_controller_status_failures_total'),
  await controller.readMetric('mcp_gateway_controller_deploy_errors_total'),
];

before(async () => {
  // Clients and browsers of this company trust its CA.
  setDefaultCACertificates([...getCACertificates(), authority.cert]);
  cluster = await joinCluster({ images: { 'sample-mcp': createNodeImage('test/cluster/serve-sample-mcp.ts') } });
  address = cluster.addresses.lastLoadBalancer;
  url = `https://${address}/tickets`;
  const { host } = cluster.addresses;
  const certificate = createCertificate({ names: [host], issuer: authority });
  idp = await startOidcProviderIdp({ listen: { address: host, certificate } });
  controller = await installController(cluster);
  failuresBefore = await countFailures();
});
after(async () => {
  await idp?.close();
  await leaveCluster();
});

test('four resources are applied; the gateway appears, and every condition of all of them becomes True', async () => {
  const certificate = createCertificate({ names: [address], issuer: authority });
  await cluster.apply([
    ...createSampleMcp('tickets'),
    createTlsSecret('web', home, certificate),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'company-ca' }, data: { 'ca.crt': authority.cert } },
    createGateway('web', {
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
              issuer: idp.issuer,
              jwks: { caCertificateRef: { name: 'company-ca' } },
              requiredScopes: ['tickets:read'],
              // The certificate is for an address, which cannot be the hostname of a listener.
              resourceMetadata: { resource: url },
            },
          },
        },
      },
    ),
  ]);
  await waitForGatewayPod(cluster, 'web');
  assert.equal(await waitUntilReachable(cluster, 'web', home, 443), address);
  await waitUntilWell(cluster, resources);
});

for (const library of [authSdkV1, authSdkV2]) {
  test(`${library.name} logs in through the load balancer, calls a tool, and refreshes its token`, async () => {
    const client = await library.connect({ url });
    try {
      assert.deepEqual([client.requests[0]?.url, client.requests[0]?.status], [url, 401]);
      assert.ok((await client.listTools()).includes('ticket_list'));
      assert.match(await client.callTool('convert_units', { value: 2, from: 'km', to: 'm' }), /2000 m/);
      const { saved } = await client.readTokens();
      await client.spoilAccessToken();
      assert.match(await client.callTool('convert_units', { value: 3, from: 'km', to: 'm' }), /3000 m/);
      assert.equal((await client.readTokens()).saved, saved + 1);
    } finally {
      await client.close();
    }
  });
}

test('nobody gets in without a token', async () => {
  const answer = await ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  assert.equal(answer.status, 401);
  assert.match(String(answer.headers['www-authenticate']), /resource_metadata="https:/);
});

test('mcp-gatehouse status says that all is well', async () => {
  const flags = ['--kubeconfig', cluster.access.kubeconfigFile, '-A'];
  const { stdout } = await runCommand(process.execPath, [program, 'status', ...flags]);
  for (const word of ['web', 'tickets', address]) assert.ok(stdout.includes(word), stdout);
});

test('the controller was never refused by the API server', async () => {
  const logs = await controller.readLogs();
  assert.doesNotMatch(logs, /forbidden/i);
  assert.deepEqual(await countFailures(), failuresBefore);
});

test('the rights of the controller end where its work does', async () => {
  const isAllowed = async (verb: string, resource: string, namespace = 'default'): Promise<boolean> => {
    const [group = '', plural = '', subresource = ''] = resource.split('/');
    const { status } = await cluster.api.create<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        spec: {
          user: `system:serviceaccount:${installationNamespace}:proxy`,
          groups: ['system:serviceaccounts', `system:serviceaccounts:${installationNamespace}`, 'system:authenticated'],
          resourceAttributes: { verb, group, resource: plural, subresource, namespace },
        },
      },
    );
    return status.allowed;
  };
  assert.equal(await isAllowed('create', 'apps/deployments'), true, 'the question is understood');
  assert.equal(await isAllowed('create', '/secrets', installationNamespace), true);
  for (const [verb, resource, namespace] of [
    ['create', '/secrets'],
    ['delete', '/secrets'],
    ['update', '/secrets', installationNamespace],
    ['delete', '/pods'],
    ['create', '/pods'],
    ['create', '/serviceaccounts/token'],
    ['create', 'rbac.authorization.k8s.io/rolebindings'],
    ['delete', '/namespaces'],
    ['delete', 'gateway.networking.k8s.io/gateways'],
  ] as const)
    assert.equal(await isAllowed(verb, resource, namespace), false, `${verb} ${resource}`);
});

test('a Gateway that is deleted leaves nothing behind', async () => {
  const deployed = await listDeployed(cluster, 'web');
  for (const kind of ['Deployment', 'Service', 'ServiceAccount', 'Pod', 'Secret'])
    assert.ok(
      deployed.some((object) => object.startsWith(`${kind} `)),
      `${kind} in ${deployed.join(', ')}`,
    );
  await cluster.delete(createGateway('web'));
  await cluster.waitFor(async () => (await listDeployed(cluster, 'web')).length === 0, {
    what: 'nothing of the Gateway is left',
    describe: async () => (await listDeployed(cluster, 'web')).join(', '),
    timeoutMs: 120_000,
  });
});
