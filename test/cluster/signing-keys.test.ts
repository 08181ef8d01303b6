// Signing keys of tokens that gateways issue: never without TLS, made for the Gateway that needs them, and rotated so that a new key signs only when both pods have it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiObject } from './api-client.ts';
import {
  createEcho,
  createGateway,
  createPolicy,
  createProxyBackend,
  createRoute,
  createTlsSecret,
  toProxyBackend,
  toService,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { listGatewayPods } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { waitUntilFollowed } from './gateway-rollout.ts';
import {
  installationNamespace,
  installController,
  type InstalledController,
  removeController,
} from './installed-controller.ts';
import { waitForCondition } from './resource-conditions.ts';
import { locateResource, locateResources, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('signing-keys');
const policy: ResourceName = { kind: 'ProxyPolicy', name: 'login', namespace };
let cluster: Cluster;
let controller: InstalledController;

type SecretObject = ApiObject & { readonly data: Readonly<Record<string, string>> };

async function findSecret(): Promise<SecretObject | undefined> {
  const label = encodeURIComponent('gateway.proxy/signing-keys=true');
  const secrets = await cluster.api.list<SecretObject>(
    `${locateResources('Secret', installationNamespace)}?labelSelector=${label}`,
  );
  return secrets.find(({ metadata }) => metadata.annotations?.['gateway.proxy/gateway'] === `${namespace}/web`);
}

const waitForSecret = (
  what: string,
  isAsWanted: (data: SecretObject['data']) => boolean,
): Promise<Readonly<Record<string, string>>> =>
  cluster.waitFor(
    async () => {
      const data = (await findSecret())?.data;
      return data !== undefined && isAsWanted(data) ? data : undefined;
    },
    { what },
  );

const listPods = () => listGatewayPods(cluster, 'web', namespace);

/** The kids that a pod publishes, and the one that it signs with. */
async function readKids(
  pod: string,
): Promise<{ readonly kids: readonly string[]; readonly active: string } | undefined> {
  const script = `const authorization = 'Bearer ' + require('node:fs').readFileSync(process.env.MCP_GATEHOUSE_ADMIN_TOKEN_FILE, 'utf8').trim(); fetch('http://127.0.0.1:15000/config', { headers: { authorization } }).then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
  const { stdout, stderr } = await cluster.exec({ namespace, pod, command: ['/usr/local/bin/node', '-e', script] });
  assert.equal(stderr, '');
  assert.doesNotMatch(stdout, /PRIVATE KEY|privateKey/);
  const { secrets = [] } = JSON.parse(stdout) as {
    readonly secrets?: readonly {
      readonly key: string;
      readonly signingKeys?: { readonly kids: readonly string[]; readonly active: string };
    }[];
  };
  return secrets.find(({ key }) => key === 'SigningKeys')?.signingKeys;
}

before(async () => {
  cluster = await joinCluster();
  await removeController(cluster);
  // Of other files too.
  for (const name of ['proxy-xds-cert', 'proxy-xds-cert-last-good'])
    await cluster.delete(createTlsSecret(name, installationNamespace, { cert: '', key: '' }));
  controller = await installController(cluster);
  await cluster.apply([
    ...createEcho('echo'),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'web', namespace },
      spec: { replicas: 2, shutdown: { drain: '1s' } },
    },
    createGateway('web', {
      infrastructure: { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'web' } },
    }),
    createProxyBackend('tickets', { service: toService('echo') }),
    createRoute('tickets', { path: '/mcp', to: toProxyBackend('tickets') }),
    createPolicy(
      'login',
      { kind: 'ProxyBackend', name: 'tickets' },
      {
        backend: {
          mcp: {
            authentication: {
              provider: 'GitHub',
              registration: { mode: 'Shared', clientId: 'gateway' },
              identity: { allow: { organizations: ['acme'] } },
              resourceMetadata: { resource: 'https://mcp.example.com/mcp' },
            },
          },
        },
      },
    ),
  ]);
});
after(leaveCluster);

test('without TLS there are none, and the policy says what to turn on', async () => {
  const { message } = await waitForCondition(cluster, policy, {
    type: 'Programmed',
    status: 'False',
    reason: 'XdsNotEncrypted',
  });
  assert.match(message, /controller\.xds\.tls\.enabled and controller\.xds\.tls\.generate/);
  await waitForCondition(cluster, { kind: 'Gateway', name: 'web', namespace }, { type: 'Programmed', status: 'True' });
  assert.equal(await findSecret(), undefined, 'nothing is made that cannot be sent');
  for (const { metadata } of await listPods()) assert.equal(await readKids(metadata.name), undefined);
});

test('with TLS they are made once, and both pods have them', async () => {
  const values = { controller: { xds: { tls: { enabled: true, generate: true } } } };
  controller = await installController(cluster, { values });
  await waitForSecret('the key is made', (data) => data['current'] !== undefined);
  await waitUntilFollowed(cluster, 'web', `https://proxy.${installationNamespace}.svc:9978`, namespace);
  await waitForCondition(cluster, policy, { type: 'Programmed', status: 'True' });
  await cluster.waitFor(
    async () => {
      const kids = await Promise.all((await listPods()).map(({ metadata }) => readKids(metadata.name)));
      return kids.length === 2 && kids.every((each) => each?.kids.length === 1 && each.active === kids[0]?.active);
    },
    { what: 'both pods sign with the same key' },
  );
});

test('who asks gets a new key, which signs only when both pods have acknowledged it', async () => {
  const made = await waitForSecret('the key is there', () => true);
  const [cutOff, other] = await listPods();
  const old = (await readKids(other!.metadata.name))!.active;
  const heal = await cluster.blackHole({ from: cutOff!.status.podIP!, to: await controller.findAddress(), port: 9978 });
  let healed = false;
  try {
    const { metadata } = (await findSecret())!;
    await cluster.api.patch(locateResource({ kind: 'Secret', name: metadata.name, namespace: installationNamespace }), {
      metadata: { annotations: { 'gateway.proxy/rotate-signing-key': 'now' } },
    });
    const prepared = await waitForSecret('the next key is made', (data) => data['next'] !== undefined);
    assert.equal(prepared['current'], made['current']);
    await cluster.waitFor(async () => (await readKids(other!.metadata.name))?.kids.length === 2, {
      what: 'the other pod publishes it',
    });
    await cluster.waitFor(
      async () => (await controller.readMetric('mcp_gateway_controller_behind_gateways', `${namespace}/web`)) === 1,
      { what: 'the controller knows that one pod is behind' },
    );
    assert.deepEqual(await waitForSecret('still there', () => true), prepared, 'it does not sign yet');
    assert.equal((await readKids(other!.metadata.name))!.active, old);
    assert.equal((await findSecret())!.metadata.annotations?.['gateway.proxy/rotate-signing-key'], undefined);

    await heal();
    healed = true;
    const switched = await waitForSecret('it signs', (data) => data['previous'] !== undefined);
    assert.deepEqual(
      [switched['current'], switched['previous'], switched['next']],
      [prepared['next'], prepared['current'], undefined],
    );
  } finally {
    if (!healed) await heal();
  }
  await waitForSecret('the end of the old one is known', (data) => data['previous-until'] !== undefined);
  for (const { metadata } of [cutOff!, other!]) {
    const kids = (await readKids(metadata.name))!;
    assert.ok(kids.kids.length === 2 && kids.kids.includes(old) && kids.active !== old);
  }
});

test('a Secret that is deleted, as after a leak, is made anew with another key at once', async () => {
  const { metadata, data } = (await findSecret())!;
  await cluster.api.delete(locateResource({ kind: 'Secret', name: metadata.name, namespace: installationNamespace }));
  await waitForSecret('another key', (now) => now['current'] !== data['current'] && now['previous'] === undefined);
  await cluster.waitFor(
    async () => {
      const kids = await Promise.all((await listPods()).map((pod) => readKids(pod.metadata.name)));
      return kids.every((each) => each?.kids.length === 1 && each.active === kids[0]?.active);
    },
    { what: 'both pods have it, and no other' },
  );
});
