// The selectors of the chart become narrower, which restarts the controller: what it wrote in the namespace that is left out is taken back, others keep theirs, what is
// deployed keeps serving, and with wider selectors everything is as before.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiObject } from './api-client.ts';
import { createEcho, createGateway, createNamespace, createPolicy, createRoute, toService } from './cluster-resources.ts'; // prettier-ignore
import type { Cluster } from './cluster.ts';
import { waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController } from './installed-controller.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('selector-statuses');
const other = 'selector-other';
const narrow = [{ matchLabels: { 'kubernetes.io/metadata.name': other } }];
const gateway: ResourceName = { kind: 'Gateway', name: 'web' };
const route: ResourceName = { kind: 'HTTPRoute', name: 'web' };
const policy: ResourceName = { kind: 'ProxyPolicy', name: 'web' };
const foreignParent = {
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'elsewhere' },
  controllerName: 'example.com/other',
  conditions: [
    {
      type: 'Accepted',
      status: 'False',
      reason: 'NoMatchingParent',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
};
let cluster: Cluster;
let address: string;

interface Entry {
  readonly controllerName: string;
}
interface WithStatus extends ApiObject {
  readonly status?: { readonly parents?: readonly Entry[]; readonly ancestors?: readonly Entry[] };
}

const listWriters = ({ status }: WithStatus): readonly string[] =>
  (status?.parents ?? status?.ancestors ?? []).map(({ controllerName }) => controllerName);

before(async () => {
  cluster = await joinCluster({ furtherNamespaces: [other] });
  await installController(cluster);
  await cluster.apply([
    createNamespace(other),
    ...createEcho('echo'),
    createGateway('web'),
    createRoute('web', { to: toService('echo') }),
    createPolicy(
      'web',
      { kind: 'HTTPRoute', name: 'web' },
      { traffic: { cors: { allowOrigins: ['https://a.example'] } } },
    ),
    createGateway('kept', { namespace: other }),
  ]);
  await waitUntilWell(cluster, [gateway, route, policy, { kind: 'Gateway', name: 'kept', namespace: other }]);
  address = await waitUntilReachable(cluster, 'web');
});
after(leaveCluster);

test('narrower selectors: statuses are taken back, and come back with wider ones', async (t) => {
  const path = locateResource(route);
  const { status } = await cluster.api.get<WithStatus>(path);
  await cluster.api.patch(`${path}/status`, { status: { parents: [...(status?.parents ?? []), foreignParent] } });
  await waitForCondition(cluster, route, { type: 'Accepted', status: 'True' });

  const changedAt = performance.now();
  await installController(cluster, { values: { discoveryNamespaceSelectors: narrow } });
  await cluster.waitForObject<WithStatus>(
    path,
    (object) => listWriters(object).length === 1 && listWriters(object)[0] === 'example.com/other',
    { what: 'only the other controller is left in the status of the route' },
  );
  await cluster.waitForObject<WithStatus>(locateResource(policy), (object) => listWriters(object).length === 0, {
    what: 'nobody is left in the status of the policy',
  });
  const told = await waitForCondition(cluster, gateway, { type: 'Programmed', status: 'Unknown', reason: 'Pending' });
  t.diagnostic(`taken back ${Math.round(performance.now() - changedAt)} ms after the change of the chart's value`);
  assert.match(told.message, new RegExp(`Namespace ${namespace} is no longer selected`));
  assert.equal((await fetch(`http://${address}/`)).status, 200, 'what is deployed keeps serving');
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'kept', namespace: other }]);
  await cluster.waitForObject<ApiObject & { data: { namespaces: string } }>(
    `/api/v1/namespaces/${installationNamespace}/configmaps/proxy-controller-namespaces`,
    ({ data }) => data.namespaces === JSON.stringify([other]),
    { what: 'the namespace that is left is written down' },
  );

  await installController(cluster);
  await waitUntilWell(cluster, [gateway, policy]);
  await cluster.waitForObject<WithStatus>(path, (object) => listWriters(object).length === 2, {
    what: 'both are in the status of the route',
  });
});
