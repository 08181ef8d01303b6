// A tenant who may write Gateways, routes and GatewayParameters, and may neither make pods and service accounts nor read Secrets, asks the controller for
// them, in every way that parameters and Gateways have. Expected: each is refused with a condition that names the field, nothing of it is deployed, and what
// was deployed before serves on.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ApiClient, ApiError, type ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { createGateway } from './cluster-resources.ts';
import { listDeployed, listGatewayPods, waitForGatewayPod } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController } from './installed-controller.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, locateResources, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('tenant-parameters');
const parametersRef = { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'own' };
const web: ResourceName = { kind: 'Gateway', name: 'web' };

let cluster: Cluster;
let tenant: ApiClient;

before(async () => {
  cluster = await joinCluster();
  await setClass({});
  await installController(cluster, {
    values: { gatewayClassParametersRefs: { proxy: { name: 'of-class', namespace } } },
  });
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'treasure', namespace }, stringData: { key: 'gold' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'mighty', namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'tenant', namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'tenant', namespace },
      rules: [
        { apiGroups: ['gateway.networking.k8s.io'], resources: ['gateways', 'httproutes'], verbs: ['*'] },
        { apiGroups: ['gateway.proxy'], resources: ['gatewayparameters'], resourceNames: ['own'], verbs: ['*'] },
        { apiGroups: ['gateway.proxy'], resources: ['gatewayparameters'], verbs: ['create'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'tenant', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'tenant' },
      subjects: [{ kind: 'ServiceAccount', name: 'tenant', namespace }],
    },
  ]);
  const path = `${locateResource({ kind: 'ServiceAccount', name: 'tenant' })}/token`;
  const { status } = await cluster.api.create<{ status: { token: string } }>(path, {
    spec: { expirationSeconds: 3600 },
  });
  tenant = new ApiClient({ server: cluster.access.server, ca: cluster.access.ca, token: status.token });
  // Rights take a moment to be in force.
  await cluster.waitFor(async () => (await tenant.list(locateResources('Gateway', namespace))).length === 0, {
    what: 'the tenant may list Gateways',
  });
});
after(leaveCluster);

/** What the administrator gives the class. */
async function setClass(spec: object): Promise<void> {
  await cluster.apply({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'GatewayParameters',
    metadata: { name: 'of-class', namespace },
    spec,
  });
}

/** As the tenant. */
async function setParameters(spec: object): Promise<void> {
  const { apiVersion, kind } = { apiVersion: 'gateway.proxy/v1alpha1', kind: 'GatewayParameters' };
  const path = locateResource({ kind, name: 'own' });
  try {
    await tenant.delete(path);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  await tenant.create(locateResources(kind, namespace), {
    apiVersion,
    kind,
    metadata: { name: 'own', namespace },
    spec,
  });
}

const overPod = (spec: object): object => ({ overlays: { deployment: { spec: { template: { spec } } } } });
const overGateway = (container: object): object => overPod({ containers: [{ name: 'gateway', ...container }] });
const confined = { securityContext: { allowPrivilegeEscalation: false } };
const treasure = { secretKeyRef: { name: 'treasure', key: 'key' } };

test('the tenant may make neither pods nor service accounts, and read no Secret', async () => {
  for (const [kind, call] of [
    ['Pod', (path: string) => tenant.create(path, { metadata: { name: 'a' }, spec: {} })],
    ['Deployment', (path: string) => tenant.create(path, { metadata: { name: 'a' }, spec: {} })],
    ['ServiceAccount', (path: string) => tenant.create(path, { metadata: { name: 'a' } })],
    ['Secret', (path: string) => tenant.get(`${path}/treasure`)],
  ] as const)
    await assert.rejects(call(locateResources(kind, namespace)), { status: 403 }, kind);
});

test('the tenant gets a gateway, and configures it', async () => {
  await setParameters({ replicas: 1, shutdown: { drain: '5s' } });
  await tenant.create(
    locateResources('Gateway', namespace),
    createGateway('web', { infrastructure: { parametersRef } }),
  );
  await waitUntilWell(cluster, [web]);
  await waitForGatewayPod(cluster, 'web');
});

/** What is deployed, with everything that may be in it, without what changes by itself. */
async function readDeployed(): Promise<string> {
  const deployment = await cluster.api.get<ApiObject & { spec: object }>(
    locateResource({ kind: 'Deployment', name: 'web-proxy' }),
  );
  const account = await cluster.api.get(locateResource({ kind: 'ServiceAccount', name: 'web-proxy' }));
  return JSON.stringify([deployment.spec, account.metadata.annotations, account['secrets']]);
}

describe('refused', () => {
  const wishes: Readonly<Record<string, readonly [spec: object, field: string]>> = {
    'an image': [{ image: { registry: 'registry.example.com', repository: 'mine' } }, 'spec.image.repository'],
    'an image by an overlay': [overGateway({ image: 'mine' }), 'containers[0].image'],
    'a container': [overPod({ containers: [{ name: 'mine', image: 'shell', ...confined }] }), 'containers[0]'],
    'an init container': [overPod({ initContainers: [{ name: 'a', image: 'shell', ...confined }] }), 'initContainers'],
    'a command': [overGateway({ command: ['/bin/sh'] }), 'containers[0].command'],
    'a command of a probe': [overGateway({ livenessProbe: { exec: { command: ['/bin/sh'] } } }), 'livenessProbe.exec'],
    'a hook': [overGateway({ lifecycle: { postStart: { exec: { command: ['a'] } } } }), 'lifecycle.postStart'],
    'code by a variable': [{ env: [{ name: 'NODE_OPTIONS', value: '--import=data:,' }] }, 'spec.env[0].name'],
    'code by a file': [
      overPod({
        containers: [{ name: 'gateway', volumeMounts: [{ name: 'a', mountPath: '/app' }] }],
        volumes: [{ name: 'a', configMap: { name: 'a' } }],
      }),
      'volumeMounts[0].mountPath',
    ],
    'a Secret as a variable': [
      { env: [{ name: 'OTEL_A', valueFrom: treasure }] },
      'spec.env[0].valueFrom.secretKeyRef',
    ],
    'a Secret as a variable by an overlay': [
      overGateway({ env: [{ name: 'OTEL_A', valueFrom: treasure }] }),
      'env[0].valueFrom.secretKeyRef',
    ],
    'all of a Secret': [overGateway({ envFrom: [{ secretRef: { name: 'treasure' } }] }), 'envFrom[0].secretRef'],
    'a Secret as a file': [
      overPod({ volumes: [{ name: 'a', secret: { secretName: 'treasure' } }] }),
      'volumes[0].secret',
    ],
    'a Secret as a part of a file': [
      overPod({ volumes: [{ name: 'a', projected: { sources: [{ secret: { name: 'treasure' } }] } }] }),
      'volumes[0].projected',
    ],
    'a service account': [overPod({ serviceAccountName: 'mighty' }), 'serviceAccountName'],
    'the token of the account': [overPod({ automountServiceAccountToken: true }), 'automountServiceAccountToken'],
    'a role of a cloud': [
      { overlays: { serviceAccount: { metadata: { annotations: { 'eks.amazonaws.com/role-arn': 'a' } } } } },
      'spec.overlays.serviceAccount',
    ],
    'a sidecar by an annotation': [
      { podTemplate: { annotations: { 'sidecar.istio.io/inject': 'true' } } },
      'spec.podTemplate.annotations.sidecar.istio.io/inject',
    ],
    'an identity by a label': [
      { podTemplate: { labels: { 'azure.workload.identity/use': 'true' } } },
      'spec.podTemplate.labels.azure.workload.identity/use',
    ],
    'the node': [overPod({ hostNetwork: true }), 'hostNetwork'],
    'the right to all of it': [{ delegation: { pods: true } }, 'spec.delegation'],
  };
  for (const [name, [spec, field]] of Object.entries(wishes))
    test(name, async () => {
      const deployed = await readDeployed();
      const pods = (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name);
      await setParameters(spec);
      const told = await cluster.waitFor(
        async () => {
          const condition = await waitForCondition(cluster, web, {
            type: 'Accepted',
            status: 'False',
            reason: 'InvalidParameters',
          });
          return condition.message.includes(`${field} must `) && condition.message;
        },
        { what: `the Gateway says what is wrong with ${field}` },
      );
      assert.match(told, /only parameters of the GatewayClass may set this/);
      assert.equal(await readDeployed(), deployed);
      assert.deepEqual(
        (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name),
        pods,
      );
      assert.doesNotMatch(JSON.stringify(await cluster.api.list(locateResources('Pod', namespace))), /treasure|mighty/);
    });

  test('a new Gateway with such parameters gets nothing at all', async () => {
    const path = locateResources('Gateway', namespace);
    await setParameters(overPod({ initContainers: [{ name: 'a', image: 'shell', ...confined }] }));
    await tenant.create(path, createGateway('late', { infrastructure: { parametersRef } }));
    await waitForCondition(
      cluster,
      { kind: 'Gateway', name: 'late' },
      { type: 'Accepted', status: 'False', reason: 'InvalidParameters' },
    );
    assert.deepEqual(await listDeployed(cluster, 'late'), []);
    await tenant.delete(`${path}/late`);
  });
});

test('labels and annotations of the Gateway that webhooks read reach neither pods nor their account, and this is said', async () => {
  await setParameters({ shutdown: { drain: '5s' } });
  const annotations = { note: 'plain', 'sidecar.istio.io/proxyImage': 'mine', 'eks.amazonaws.com/role-arn': 'mighty' };
  const labels = { team: 'edge', 'azure.workload.identity/use': 'true' };
  await tenant.patch(locateResource(web), { spec: { infrastructure: { annotations, labels } } });
  const told = await waitForCondition(cluster, web, { type: 'Accepted', status: 'True' });
  const said = await cluster.waitFor(
    async () => {
      const { message } = await waitForCondition(cluster, web, { type: 'Accepted', status: 'True' });
      return message.includes('podMetadata') && message;
    },
    { what: `the Gateway says what pods do not get, not only ${told.message}` },
  );
  for (const key of [...Object.keys(annotations), ...Object.keys(labels)].filter((each) => each.includes('/')))
    assert.ok(said.includes(key), said);
  const service = await cluster.waitForObject(
    locateResource({ kind: 'Service', name: 'web-proxy' }),
    ({ metadata }) => metadata.annotations?.['note'] === 'plain',
  );
  assert.equal(service.metadata.annotations?.['sidecar.istio.io/proxyImage'], 'mine', 'a load balancer may read it');
  const account = await cluster.waitForObject(
    locateResource({ kind: 'ServiceAccount', name: 'web-proxy' }),
    ({ metadata }) => metadata.annotations?.['note'] === 'plain',
  );
  const [pod] = await cluster.waitFor(
    async () => {
      const pods = await listGatewayPods(cluster, 'web');
      return pods.length === 1 && pods[0]?.metadata.annotations?.['note'] === 'plain' && pods;
    },
    { what: 'the pod has the plain one' },
  );
  for (const { metadata } of [account, pod!]) {
    assert.equal(metadata.labels?.['team'], 'edge');
    const keys = [...Object.keys(metadata.annotations ?? {}), ...Object.keys(metadata.labels ?? {})];
    assert.deepEqual(
      keys.filter((key) => /istio|eks|azure/.test(key)),
      [],
    );
  }
});

test('what the class delegates is theirs, and no more', async () => {
  await setParameters({
    image: { registry: 'registry.example.com', repository: 'team/gateway' },
    podTemplate: { annotations: { 'sidecar.istio.io/inject': 'false' } },
    shutdown: { drain: '5s' },
  });
  await waitForCondition(cluster, web, { type: 'Accepted', status: 'False', reason: 'InvalidParameters' });
  await setClass({ delegation: { images: ['registry.example.com/team/gateway'], podMetadata: ['sidecar.istio.io/'] } });
  await waitForCondition(cluster, web, { type: 'Accepted', status: 'True' });
  await cluster.waitFor(
    async () => {
      const [pod, ...others] = await listGatewayPods(cluster, 'web');
      const text = JSON.stringify(pod);
      return (
        others.length === 0 &&
        text.includes('registry.example.com/team/gateway:') &&
        pod?.metadata.annotations?.['sidecar.istio.io/inject'] === 'false'
      );
    },
    { what: 'the pod has the image and the annotation', timeoutMs: 120_000 },
  );
  await setParameters(overPod({ serviceAccountName: 'mighty' }));
  await waitForCondition(cluster, web, { type: 'Accepted', status: 'False', reason: 'InvalidParameters' });
  await setParameters({ shutdown: { drain: '5s' } });
  await waitUntilWell(cluster, [web]);
});
