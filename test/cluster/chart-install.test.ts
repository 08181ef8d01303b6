// The life of an installation, with the commands of docs/install.md and the real helm: installed, upgraded to other ports and to TLS, rolled back, uninstalled,
// installed again and removed, under a steady load and with a person who logged in once.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startOidcProviderIdp, type OidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { type AuthedClient, authSdkV2 } from '../idp/sdk-auth-clients.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import type { Cluster } from './cluster.ts';
import { listObjects } from './cluster-objects.ts';
import {
  createEcho,
  createPolicy,
  createProxyBackend,
  createRoute,
  createSampleMcp,
  createTlsSecret,
  plainListener,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import { readCommands, readSection, runAsDocumented } from './documented-commands.ts';
import { waitUntilFollowed } from './gateway-rollout.ts';
import { createNodeImage } from './image-table.ts';
import { installationNamespace, InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { waitForEvent, waitUntilWell } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { startCluster } from './start-cluster.ts';

const company = createAuthority('the CA of the company');
const serverName = `proxy.${installationNamespace}.svc`;
let cluster: Cluster;
let controller: InstalledController;
let idp: OidcProviderIdp;
let gateway: ProtectedGateway;
let person: AuthedClient;
/** What was there before anything was installed: the CRDs of the Gateway API, and workloads. */
let atFirst: ReadonlySet<string>;

before(async () => {
  setDefaultCACertificates([...getCACertificates(), company.cert]);
  const images = { 'sample-mcp': createNodeImage('test/cluster/serve-sample-mcp.ts') };
  cluster = await startCluster({ hasCrds: false, images });
  controller = new InstalledController(cluster);
  const { host } = cluster.addresses;
  const certificate = createCertificate({ names: [host], issuer: company });
  idp = await startOidcProviderIdp({ listen: { address: host, certificate }, accessTokenSeconds: 3600 });
  await cluster.applyFolder(join(cluster.gatewayApiFolder, 'crds'));
  await cluster.apply([
    ...createEcho('echo'),
    ...createSampleMcp('tickets'),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'company-ca' }, data: { 'ca.crt': company.cert } },
    createTlsSecret('web', 'default', createCertificate({ names: ['replaced.example.com'], issuer: company })),
  ]);
  atFirst = new Set(await listObjects(cluster));
});
after(async () => {
  await person?.close();
  await idp?.close();
  await cluster?.stop();
});

/** What came since the beginning. */
async function listNew(): Promise<readonly string[]> {
  return (await listObjects(cluster)).filter((object) => !atFirst.has(object));
}

/** The same client, in the same session and with the same token as at first. */
async function callTool(value: number): Promise<void> {
  assert.match(await person.callTool('convert_units', { value, from: 'km', to: 'm' }), new RegExp(`${value}000 m`));
  assert.equal((await person.readTokens()).saved, 1, 'nobody had to log in again');
}

/** All but the first command, which gets the CRDs of the Gateway API from the internet. */
async function readInstallCommands(): Promise<string> {
  const [block = ''] = await readCommands('Install');
  const [crds = '', ...rest] = block.split('\n');
  assert.match(crds, /^kubectl apply .*gateway-api/);
  return rest.join('\n');
}

test('install', async () => {
  const said = await runAsDocumented(cluster, await readInstallCommands());
  assert.match(said, /^Phase: +Succeeded$/m);
  assert.match(said, /^xds \S+:9978: served without TLS/m);
});

test('a Gateway is programmed, and who logs in calls a tool through its load balancer', async () => {
  gateway = await deployProtectedGateway(cluster, 2);
  const https = { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'web' }] } };
  const jwks = { caCertificateRef: { name: 'company-ca' } };
  const url = `https://${gateway.address}/tickets`;
  const resourceMetadata = { resource: url };
  const authentication = { issuer: idp.issuer, jwks, requiredScopes: ['tickets:read'], resourceMetadata };
  await cluster.apply([
    createTlsSecret('web', 'default', createCertificate({ names: [gateway.address], issuer: company })),
    createRoute('tickets', { path: '/tickets', to: toProxyBackend('tickets') }),
    createProxyBackend('tickets', { service: toService('tickets') }),
    createPolicy('tickets', { kind: 'ProxyBackend', name: 'tickets' }, { backend: { mcp: { authentication } } }),
  ]);
  await cluster.api.patch(locateResource({ kind: 'Gateway', name: 'web' }), {
    spec: { listeners: [plainListener, https] },
  });
  await waitUntilWell(cluster, [
    { kind: 'GatewayClass', name: 'proxy' },
    { kind: 'Gateway', name: 'web' },
    ...['HTTPRoute', 'ProxyBackend', 'ProxyPolicy'].map((kind) => ({ kind, name: 'tickets' })),
  ]);
  person = await authSdkV2.connect({ url });
  assert.equal(person.requests[0]?.status, 401);
  await callTool(2);
});

const isReady = ({ status }: PodObject): boolean => status.containerStatuses?.[0]?.ready === true;

interface Ports {
  readonly proxyGrpc: number;
  readonly health: number;
  readonly metrics: number;
}

/** The documented upgrade, to TLS and these ports. */
async function upgrade(ports: Ports): Promise<void> {
  const [block = ''] = await readCommands('Upgrade');
  const sets = Object.entries(ports).map(([name, port]) => `controller.service.ports.${name}=${port}`);
  await runAsDocumented(cluster, `${block.trimEnd()} --set controller.xds.tls.enabled=true,${sets.join(',')}`);
}

/** The pod of the controller that is not one of these. */
function waitForNextPod(known: readonly PodObject[]): Promise<PodObject> {
  const names = new Set(known.map(({ metadata }) => metadata.name));
  return cluster.waitFor(
    async () =>
      (await controller.listPods()).find(
        ({ metadata, status }) => !names.has(metadata.name) && status.podIP !== undefined,
      ),
    { what: 'there is a pod of the next revision' },
  );
}

test('upgrade to other ports and to TLS, without its Secret at first: the controller says so, and comes up by itself', async (t) => {
  const load = await gateway.startLoad(t);
  const ports = { proxyGrpc: 7978, health: 7093, metrics: 7092 };
  const known = await controller.listPods();
  const upgrading = upgrade(ports);
  const next = await waitForNextPod(known);
  const missing = /tls\.crt and tls\.key and ca\.crt are missing/;
  await cluster.waitFor(
    async () => missing.test(await (await fetch(`http://${next.status.podIP}:${ports.health}/readyz`)).text()),
    { what: 'the readiness says what is missing' },
  );
  const pod = { kind: 'Pod', name: next.metadata.name, namespace: installationNamespace };
  assert.match((await waitForEvent(cluster, pod, 'CertificateUnusable')).note, missing);
  assert.match(await cluster.logs(installationNamespace, next.metadata.name), missing);
  assert.equal(isReady(await cluster.api.get<PodObject>(locateResource(pod))), false);
  // The controller before still leads.
  await gateway.proveChange(t);

  const blocks = await readCommands('TLS between controller and gateways');
  const openssl = blocks.find((block) => block.includes('proxy-xds-ca')) ?? '';
  assert.match(openssl, /^openssl /);
  await runAsDocumented(cluster, openssl, { inOwnFolder: true });
  await upgrading;
  await waitUntilFollowed(cluster, 'web', `https://${serverName}:${ports.proxyGrpc}`);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await callTool(3);
});

test('upgrade to other ports with TLS', async (t) => {
  const load = await gateway.startLoad(t);
  await upgrade({ proxyGrpc: 6978, health: 6093, metrics: 6092 });
  await waitUntilFollowed(cluster, 'web', `https://${serverName}:6978`);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await callTool(4);
  const said = await runAsDocumented(cluster, `helm test proxy --namespace ${installationNamespace} --logs`);
  assert.match(said, /^xds \S+:6978: served over TLS/m);
});

test('roll back', async (t) => {
  const load = await gateway.startLoad(t);
  const [block = ''] = await readCommands('Roll back');
  await runAsDocumented(cluster, block);
  await waitUntilFollowed(cluster, 'web', `http://${serverName}:9978`);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await callTool(5);
});

const routes = ['HTTPRoute default/guarded', 'HTTPRoute default/tickets'];
const applied = [
  'Gateway default/web',
  'GatewayParameters default/web',
  'ProxyBackend default/tickets',
  'ProxyPolicy default/guard',
  'ProxyPolicy default/tickets',
];
const crds = ['gatewayparameters', 'proxybackends', 'proxypolicies'].map(
  (name) => `CustomResourceDefinition ${name}.gateway.proxy`,
);
/** What the rows of the table under "Uninstall" come to here. */
const stays: readonly (readonly [row: RegExp, objects: readonly string[]])[] = [
  [
    /^running gateways: Deployment, Service, ServiceAccount, /,
    ['Deployment default/web-proxy', 'Service default/web-proxy', 'ServiceAccount default/web-proxy'],
  ],
  [/^Gateways, HTTPRoutes, ProxyPolicies, ProxyBackends, GatewayParameters, /, [...applied, ...routes]],
  [/^the three CRDs of `proxy-crds`/, crds],
  [/^the GatewayClass `proxy`/, ['GatewayClass proxy']],
  [
    /`proxy-seal-\.\.\.`.*Lease `proxy-controller`.*ConfigMap `proxy-controller-namespaces`.*Secret `proxy-xds-cert`.*`proxy-xds-cert-last-good`.*pod `proxy-test`.*`proxy-system`/,
    [
      'ConfigMap proxy-system/proxy-controller-namespaces',
      'Lease proxy-system/proxy-controller',
      'Namespace proxy-system',
      'Pod proxy-system/proxy-test',
      'Secret proxy-system/proxy-seal-...',
      'Secret proxy-system/proxy-xds-cert',
      'Secret proxy-system/proxy-xds-cert-last-good',
    ],
  ],
];

const hideHash = (object: string): string => object.replace(/(?<=\/proxy-seal-)[0-9a-f]+$/, '...');

async function uninstall(): Promise<void> {
  const [block = ''] = await readCommands('Uninstall');
  await runAsDocumented(cluster, block);
  await cluster.waitFor(async () => (await controller.listPods()).length === 0, { what: 'no controller is left' });
}

test('uninstall: gateways serve on, and what stays is what the docs list', async (t) => {
  const load = await gateway.startLoad(t);
  await uninstall();
  await gateway.expectUnharmed(t, load);
  await callTool(6);
  const rows = (await readSection('Uninstall')).match(/^\| .*$/gm)?.slice(1) ?? [];
  assert.equal(rows.length, stays.length);
  for (const [index, [row]] of stays.entries()) assert.match(rows[index]!.slice(2), row);
  assert.deepEqual((await listNew()).map(hideHash), stays.flatMap(([, objects]) => objects).toSorted());
});

test('install again: all of it is taken over', async (t) => {
  const load = await gateway.startLoad(t);
  const pods = await gateway.listPods();
  await runAsDocumented(cluster, await readInstallCommands());
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
  await callTool(7);
  const identify = (some: readonly PodObject[]): readonly string[] => some.map(({ metadata }) => metadata.name);
  assert.deepEqual(identify(await gateway.listPods()), identify(pods), 'no gateway was replaced');
});

test('remove: the documented commands leave nothing but HTTPRoutes', async () => {
  await uninstall();
  const [, controllers = '', peoples = ''] = await readCommands('Uninstall');
  await runAsDocumented(cluster, controllers);
  assert.deepEqual(await listNew(), [...applied, ...crds, ...routes].toSorted());
  await runAsDocumented(cluster, peoples);
  assert.deepEqual(await listNew(), routes);
  const now = new Set(await listObjects(cluster));
  assert.deepEqual(
    [...atFirst].filter((object) => !now.has(object)),
    [],
    'and take nothing else away',
  );
});
