// Statuses that others write too, objects that we stop looking after, and many of them at once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  connectGateway,
  controllerName,
  programGateway,
  putGateway,
  putPolicy,
  putRoute,
  readConditions,
  startCluster,
  startReplica,
  waitForCondition,
  waitForService,
} from './controller-fixture.ts';
import type { FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

interface RouteStatus {
  parents: { controllerName: string; parentRef: object; conditions: { type: string }[] }[];
}

function readParents(cluster: FakeApiServer, name: string): readonly string[] {
  const status = cluster.find('HTTPRoute', name)?.['status'] as RouteStatus | undefined;
  return (status?.parents ?? []).map((parent) => parent.controllerName);
}

const theirs = {
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'elsewhere' },
  controllerName: 'example.com/other',
  conditions: [],
};
const foreign = {
  type: 'example.com/Audited',
  status: 'True',
  reason: 'Audited',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

describe('statuses', () => {
  test('statuses of others stay, reverted ones are repaired, and nothing is written twice', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    cluster.change('Gateway', 'team/edge', (gateway) => (gateway['status'] = { conditions: [foreign] }));
    cluster.change('HTTPRoute', 'team/tickets', (route) => (route['status'] = { parents: [theirs] }));
    const replica = await startReplica(context, cluster);
    await programGateway(context, cluster, replica);
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
    assert.deepEqual(readParents(cluster, 'team/tickets'), ['example.com/other', controllerName]);
    const { conditions } = cluster.find('Gateway', 'team/edge')!['status'] as { conditions: object[] };
    assert.deepEqual(conditions[0], foreign);

    cluster.change('HTTPRoute', 'team/tickets', (route) => (route['status'] = { parents: [theirs] }));
    await waitFor('ours is back', () => readParents(cluster, 'team/tickets').includes(controllerName));
    const from = cluster.requests.length;
    cluster.change('HTTPRoute', 'team/tickets', (route) => (route.metadata.labels = { touched: 'yes' }));
    putRoute(cluster, 'team/last');
    await waitForCondition(cluster, 'HTTPRoute', 'team/last', 'Accepted', 'True');
    const writes = cluster.requests
      .slice(from)
      .filter(({ subresource, name }) => subresource === 'status' && name === 'tickets');
    assert.deepEqual(writes, [], 'a status that is right was written again');
  });

  test('a route that is deleted and made again in one moment, as it was, gets its status again', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster);
    await programGateway(context, cluster, replica);
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
    cluster.delete('HTTPRoute', 'team/tickets');
    putRoute(cluster);
    assert.deepEqual(readParents(cluster, 'team/tickets'), []);
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
  });

  test('a thousand writes of somebody else to one status leave both', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster);
    await programGateway(context, cluster, replica);
    for (let round = 1; round <= 1_000; round += 1) {
      // Each of them takes ours away, so that it has to be written again, into the next one.
      cluster.change('HTTPRoute', 'team/tickets', (route) => (route['status'] = { parents: [{ ...theirs, round }] }));
      if (round % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor('ours is there', () => readParents(cluster, 'team/tickets').includes(controllerName));
    const { parents } = cluster.find('HTTPRoute', 'team/tickets')!['status'] as { parents: { round?: number }[] };
    assert.equal(parents[0]?.round, 1_000);
    await waitFor('nothing is left to write', async () =>
      /^mcp_gateway_controller_status_pending 0$/m.test(await replica.metrics.expose()),
    );
  });

  test('a namespace that is not selected any more: nothing is deleted, gateways keep serving, and the statuses say so', async (context) => {
    const cluster = await startCluster(context);
    const label = (value: string | undefined): void =>
      void cluster.change('Namespace', 'team', (namespace) => {
        namespace.metadata.labels = value === undefined ? {} : { gateways: value };
      });
    label('yes');
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const replica = await startReplica(context, cluster, {
      namespaceSelectors: [{ matchLabels: { gateways: 'yes' } }],
    });
    const gateway = await programGateway(context, cluster, replica);
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    const { applied } = gateway;
    label(undefined);
    const suspended = await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'Unknown', 'Pending');
    assert.match(suspended.message, /Namespace team is no longer selected by the controller/);
    await waitFor('our entries are gone', () => readParents(cluster, 'team/tickets').length === 0);
    await waitFor('those of policies too', () => {
      const status = cluster.find('ProxyPolicy', 'team/cors')!['status'] as { ancestors: unknown[] };
      return status.ancestors.length === 0;
    });
    assert.notEqual(cluster.find('Deployment', 'team/edge-proxy'), undefined);
    assert.notEqual(cluster.find('Service', 'team/edge-proxy'), undefined);
    assert.deepEqual([gateway.applied, gateway.configuration?.routes.length], [applied, 1]);
    label('yes');
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    await waitFor('our entries are back', () => readParents(cluster, 'team/tickets').includes(controllerName));
  });

  test('a Gateway that names another class waits for its controller', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster);
    await programGateway(context, cluster, replica);
    cluster.change('Gateway', 'team/edge', (gateway) => (gateway['spec'].gatewayClassName = 'other'));
    const waiting = await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'Unknown', 'Pending');
    assert.match(waiting.message, /GatewayClass other does not exist or belongs to another controller/);
    await waitFor('our entries are gone', () => readParents(cluster, 'team/tickets').length === 0);
    // Their controller writes; we do not come back to it.
    const words = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'theirs', lastTransitionTime: '' };
    cluster.change('Gateway', 'team/edge', (gateway) => (gateway['status'] = { conditions: [words] }));
    putRoute(cluster, 'team/last');
    await waitForCondition(cluster, 'ProxyBackend', 'team/last', 'Accepted', 'True');
    assert.deepEqual((cluster.find('Gateway', 'team/edge')!['status'] as { conditions: unknown }).conditions, [words]);
  });

  test('a grant that is taken back is in the statuses', async (context) => {
    const cluster = await startCluster(context);
    cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'store' } });
    putGateway(cluster);
    putRoute(cluster, 'store/tickets');
    cluster.put({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'ReferenceGrant',
      metadata: { namespace: 'store', name: 'grant' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'team' }],
        to: [{ group: 'gateway.proxy', kind: 'ProxyBackend' }],
      },
    });
    cluster.put({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { namespace: 'team', name: 'across' },
      spec: {
        parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }],
        rules: [
          { backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets', namespace: 'store' }] },
        ],
      },
    });
    const replica = await startReplica(context, cluster);
    await programGateway(context, cluster, replica);
    await waitForCondition(cluster, 'HTTPRoute', 'team/across', 'ResolvedRefs', 'True');
    cluster.delete('ReferenceGrant', 'store/grant');
    await waitForCondition(cluster, 'HTTPRoute', 'team/across', 'ResolvedRefs', 'False', 'RefNotPermitted');
  });

  const many = effort(300, 60);
  test(`${many} routes with a policy each`, async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    const names = Array.from({ length: many }, (_, index) => `r${index}`);
    for (const name of names) {
      putRoute(cluster, `team/${name}`);
      putPolicy(cluster, `team/${name}`, name);
    }
    const replica = await startReplica(context, cluster);
    await waitForService(cluster);
    const gateway = connectGateway(context, cluster, { port: replica.xdsPort });
    await waitFor('every policy is programmed', () =>
      names.every(
        (name) => readConditions(cluster.find('ProxyPolicy', `team/${name}`))['Programmed']?.status === 'True',
      ),
    );
    assert.equal(gateway.configuration?.policies.length, many);
  });
});
