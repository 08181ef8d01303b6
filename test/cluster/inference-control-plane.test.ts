// InferencePools and the control plane, on an API server with the CRD of the Inference Extension: nobody asks for pools while the switch of the
// chart is off; with it pools get their status beside what others say, and gateways the pods that are ready.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { AskedAuthorization, Cluster } from './cluster.ts';
import {
  createEcho,
  createGateway,
  createInferencePool,
  createRoute,
  toInferencePool,
  toService,
} from './cluster-resources.ts';
import { listGatewayPods, waitForGatewayPod, waitUntilReachable } from './deployed-gateway.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { listConditions, waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, locateResources, type ResourceName } from './resource-paths.ts';
import { startCluster } from './start-cluster.ts';

const user = `system:serviceaccount:${installationNamespace}:proxy`;
const pool: ResourceName = { kind: 'InferencePool', name: 'models' };
const route: ResourceName = { kind: 'HTTPRoute', name: 'models' };
const modelRoute = createRoute('models', { path: '/models', to: toInferencePool('models') });
const withSwitch = { values: { inferenceExtension: { enabled: true } } };

/** As two others may have written it: one who says who they are, and one who does not. */
const others = [
  {
    parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'elsewhere' },
    controllerName: 'example.com/other',
    conditions: [],
  },
  { parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web' }, conditions: [] },
];

let cluster: Cluster;
let controller: InstalledController;
let address: string;

before(async () => {
  cluster = await startCluster({ recordedUser: user, hasInferenceExtension: true });
  controller = await installController(cluster);
  await cluster.apply([
    ...createEcho('echo'),
    ...createEcho('model'),
    // Nobody asks it here: what matters is that the Service is there.
    ...createEcho('picker'),
    createGateway('web'),
    createRoute('echo', { path: '/echo', to: toService('echo') }),
    createInferencePool('models', { app: 'model', port: 3000, picker: { name: 'picker', port: 80 } }),
    modelRoute,
  ]);
  address = await waitUntilReachable(cluster, 'web');
});
after(() => cluster?.stop());

interface PoolStatus {
  readonly parents?: readonly { readonly parentRef: ResourceName; readonly controllerName?: string }[];
}

async function readParents(): Promise<PoolStatus['parents']> {
  const { status } = await cluster.api.get<ApiObject & { readonly status?: PoolStatus }>(locateResource(pool));
  return status?.parents;
}

const readNames = async (): Promise<readonly string[]> =>
  ((await readParents()) ?? []).map((parent) => `${parent.controllerName ?? 'nobody'} ${parent.parentRef.name}`);

/** What was asked for about pools. */
async function listInferenceQuestions(): Promise<readonly string[]> {
  const format = ({ group, resource, subresource, verb }: AskedAuthorization): string =>
    `${[group, resource, subresource].filter(Boolean).join('/')} ${verb}`;
  const asked = (await cluster.readAuthorizations()).filter(({ group }) => group === 'inference.networking.k8s.io');
  return [...new Set(asked.map(format))].toSorted();
}

const readStatusOf = async (path: string): Promise<number> => (await fetch(`http://${address}${path}`)).status;

interface ConfigDump {
  readonly backends?: readonly {
    readonly key: string;
    readonly inference?: {
      readonly upstream?: { readonly endpoints?: readonly { readonly host: string; readonly port: number }[] };
    };
  }[];
}

/** The endpoints of the pool, as the deployed gateway has them. */
async function readEndpoints(): Promise<readonly string[] | undefined> {
  const { metadata } = await waitForGatewayPod(cluster, 'web');
  const script = `const authorization = 'Bearer ' + require('node:fs').readFileSync(process.env.MCP_GATEHOUSE_ADMIN_TOKEN_FILE, 'utf8').trim(); fetch('http://127.0.0.1:15000/config', { headers: { authorization } }).then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
  const { stdout, stderr } = await cluster.exec({
    namespace: 'default',
    pod: metadata.name,
    command: ['/usr/local/bin/node', '-e', script],
  });
  assert.equal(stderr, '');
  const { backends = [] } = JSON.parse(stdout) as ConfigDump;
  const found = backends.find(({ key }) => key === 'InferencePool/default/models')?.inference;
  return found && (found.upstream?.endpoints ?? []).map(({ host, port }) => `${host}:${port}`).toSorted();
}

async function listModelPods(): Promise<readonly PodObject[]> {
  const pods = await cluster.api.list<PodObject>(locateResources('Pod', 'default'));
  return pods.filter(({ metadata }) => metadata.labels?.['app'] === 'model');
}

/** Waits until the gateway has exactly the pods that are ready and stay, and at least one. */
async function waitForEndpoints(count: number): Promise<readonly PodObject[]> {
  return cluster.waitFor(
    async () => {
      const ready = (await listModelPods()).filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined &&
          status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true,
      );
      const expected = ready.map(({ status }) => `${status.podIP}:3000`).toSorted();
      return ready.length === count && (await readEndpoints())?.join() === expected.join() ? ready : undefined;
    },
    { what: `the gateway has the ${count} pods that are ready` },
  );
}

const scale = (replicas: number): Promise<unknown> =>
  cluster.api.patch(locateResource({ kind: 'Deployment', name: 'model' }), { spec: { replicas } });

test('without the switch a route to a pool says so and answers 500, and nobody asks for pools', async () => {
  const told = await waitForCondition(cluster, route, { type: 'ResolvedRefs', status: 'False', reason: 'InvalidKind' });
  assert.match(told.message, /inferenceExtension\.enabled/);
  await waitUntilWell(cluster, [
    { kind: 'Gateway', name: 'web' },
    { kind: 'HTTPRoute', name: 'echo' },
  ]);
  await cluster.waitFor(async () => (await readStatusOf('/echo')) === 200, { what: 'the other route is served' });
  assert.equal(await readStatusOf('/models'), 500);
  assert.equal(await readEndpoints(), undefined);
  assert.deepEqual(await listInferenceQuestions(), []);
  assert.equal(await readParents(), undefined);
});

test('with the switch the pool gets a status beside what others say, and no gateway is replaced', async () => {
  await cluster.api.patch(`${locateResource(pool)}/status`, { status: { parents: others } });
  const pods = (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.uid);
  await installController(cluster, withSwitch);
  await waitUntilWell(cluster, [pool, route]);
  assert.deepEqual(await readNames(), ['example.com/other elsewhere', 'nobody web', 'gateway.proxy/controller web']);
  assert.deepEqual(
    (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.uid),
    pods,
  );
  assert.deepEqual(await listInferenceQuestions(), [
    'inference.networking.k8s.io/inferencepools list',
    'inference.networking.k8s.io/inferencepools watch',
    'inference.networking.k8s.io/inferencepools/status update',
  ]);
  assert.equal(await readStatusOf('/echo'), 200);
});

test('pods that come, go and are replaced change the endpoints of the gateway', async () => {
  await waitForEndpoints(1);
  await scale(3);
  const [first] = await waitForEndpoints(3);
  await cluster.api.delete(locateResource({ kind: 'Pod', name: first!.metadata.name }));
  const replaced = await waitForEndpoints(3);
  assert.equal(
    replaced.some(({ metadata }) => metadata.uid === first!.metadata.uid),
    false,
  );
  await scale(1);
  await waitForEndpoints(1);
});

test('a picker that is not there is told in both statuses', async () => {
  const service = locateResource({ kind: 'Service', name: 'picker' });
  await cluster.api.delete(service);
  await waitForCondition(cluster, pool, { type: 'ResolvedRefs', status: 'False', reason: 'InvalidExtensionRef' });
  await waitForCondition(cluster, route, { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' });
  await cluster.waitFor(async () => (await readStatusOf('/models')) === 500, {
    what: 'the share of the pool is closed',
  });
  await cluster.apply(createEcho('picker'));
  await waitUntilWell(cluster, [pool, route]);
});

test('our entry goes with the route, and those of others stay', async () => {
  await cluster.delete(modelRoute);
  await cluster.waitFor(async () => !(await readNames()).some((name) => name.startsWith('gateway.proxy/')), {
    what: 'our entry is gone',
  });
  assert.deepEqual(await readNames(), ['example.com/other elsewhere', 'nobody web']);
  await cluster.apply(modelRoute);
  await waitUntilWell(cluster, [pool, route]);
});

test('when the switch is taken away again, routes say so, and what was said in pools stays', async () => {
  const names = await readNames();
  controller = await installController(cluster);
  await waitForCondition(cluster, route, { type: 'ResolvedRefs', status: 'False', reason: 'InvalidKind' });
  assert.deepEqual(await readNames(), names);
  assert.equal((await controller.readReadiness()).ready, true);
  const told = listConditions(await cluster.api.get(locateResource({ kind: 'HTTPRoute', name: 'echo' })));
  assert.equal(
    told.every(({ status }) => status === 'True'),
    true,
  );
});
