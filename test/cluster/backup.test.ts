// docs/backup.md: the commands as they stand there. Everything of a Gateway is lost and restored, and a person who had logged in before does not notice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startOidcProviderIdp, type OidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { authSdkV2 } from '../idp/sdk-auth-clients.ts';
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
import { listDeployed, waitUntilReachable } from './deployed-gateway.ts';
import { readCommands, runAsDocumented } from './documented-commands.ts';
import { claimNamespace } from './file-namespace.ts';
import { createNodeImage } from './image-table.ts';
import { installationNamespace, installController } from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import type { ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('backup');
const authority = createAuthority('the CA of the company');
const resources: readonly ResourceName[] = [
  { kind: 'Gateway', name: 'web' },
  { kind: 'HTTPRoute', name: 'tickets' },
  { kind: 'ProxyPolicy', name: 'tickets' },
];
let cluster: Cluster;
let idp: OidcProviderIdp;
let address: string;

before(async () => {
  setDefaultCACertificates([...getCACertificates(), authority.cert]);
  cluster = await joinCluster({ images: { 'sample-mcp': createNodeImage('test/cluster/serve-sample-mcp.ts') } });
  address = cluster.addresses.lastLoadBalancer;
  const { host } = cluster.addresses;
  const certificate = createCertificate({ names: [host], issuer: authority });
  idp = await startOidcProviderIdp({ listen: { address: host, certificate }, accessTokenSeconds: 3600 });
  await installController(cluster);
});
after(async () => {
  await idp?.close();
  await leaveCluster();
});

interface SealKeys {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
    readonly data: Readonly<Record<string, string>>;
  }[];
}

/** Of the Gateway of this file. */
async function readSealKeys(): Promise<SealKeys['items'][number] | undefined> {
  const { items } = await cluster.api.get<SealKeys>(
    `/api/v1/namespaces/${installationNamespace}/secrets?labelSelector=gateway.proxy/seal-keys=true`,
  );
  return items.find(({ metadata }) => metadata.annotations['gateway.proxy/gateway'] === `${home}/web`);
}

/** The commands of a section that need no release of helm. */
async function readKubectl(heading: string): Promise<string> {
  const [block = ''] = await readCommands(heading, 'backup.md');
  const lines = block.split('\n').filter((line) => !line.startsWith('helm '));
  assert.ok(lines.length > 2, `the commands of ${heading}`);
  return lines.join('\n');
}

test('the commands restore resources and seal keys: who had logged in goes on', async () => {
  const url = `https://${address}/tickets`;
  await cluster.apply([
    ...createSampleMcp('tickets'),
    createTlsSecret('web', home, createCertificate({ names: [address], issuer: authority })),
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
              resourceMetadata: { resource: url },
            },
          },
        },
      },
    ),
  ]);
  await waitUntilReachable(cluster, 'web', home, 443);
  await waitUntilWell(cluster, resources);
  const person = await authSdkV2.connect({ url });
  try {
    assert.match(await person.callTool('convert_units', { value: 2, from: 'km', to: 'm' }), /2000 m/);
    const kept = await readSealKeys();
    assert.ok(kept !== undefined);

    await runAsDocumented(cluster, await readKubectl('On Kubernetes: back up'), { inOwnFolder: true });
    const kinds = 'gateways,httproutes,proxybackends,proxypolicies';
    await cluster.kubectl(['delete', kinds, '--all', '-n', home]);
    // Neither its keys nor its pods: the person's connection ends with them, and not in the middle of the next request.
    await cluster.waitFor(async () => (await listDeployed(cluster, 'web')).length === 0, {
      what: 'nothing of the Gateway is left',
    });

    await runAsDocumented(cluster, await readKubectl('On Kubernetes: restore'), { inOwnFolder: true });
    const restored = await readSealKeys();
    assert.deepEqual(restored?.data, kept.data);
    assert.notDeepEqual(restored?.metadata.annotations, kept.metadata.annotations, 'it is another Gateway');
    await waitUntilReachable(cluster, 'web', home, 443);
    await waitUntilWell(cluster, resources);

    // Its refresh token is sealed with the old keys.
    const { saved } = await person.readTokens();
    await person.spoilAccessToken();
    assert.match(await person.callTool('convert_units', { value: 3, from: 'km', to: 'm' }), /3000 m/);
    assert.equal((await person.readTokens()).saved, saved + 1);
  } finally {
    await person.close();
  }
});
