// Two installations in one cluster whose selectors have no namespace in common: what docs/upgrades.md says about them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { putGateway, putRoute, startCluster, startReplica, waitForCondition } from './controller-fixture.ts';
import type { FakeApiServer } from './fake-api-server/fake-api-server.ts';
import { waitFor } from '../kit/wait-for.ts';

const select = (ring: string): [{ matchLabels: Record<string, string> }] => [{ matchLabels: { ring } }];

function putNamespace(cluster: FakeApiServer, name: string, ring: string): void {
  cluster.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { ring } } });
}

/** The controller that the pods of a Gateway connect to, as its Deployment says. */
function readController(cluster: FakeApiServer, gateway: string): string | undefined {
  const deployment = cluster.find('Deployment', `${gateway}-proxy`) as
    | { spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } } }
    | undefined;
  const [container] = deployment?.spec.template.spec.containers ?? [];
  return container?.env.find(({ name }) => name === 'MCP_GATEHOUSE_CONTROLLER')?.value;
}

test('each serves its namespaces, leaves those of the other alone, and takes over one that is moved to it', async (t) => {
  const cluster = await startCluster(t);
  putNamespace(cluster, 'team', 'stable');
  putNamespace(cluster, 'canary', 'early');
  putNamespace(cluster, 'proxy-early', 'none');
  putGateway(cluster, 'team/edge');
  putGateway(cluster, 'canary/edge');
  const stable = await startReplica(t, cluster, { namespaceSelectors: select('stable') });
  const early = await startReplica(t, cluster, {
    namespaceSelectors: select('early'),
    installationNamespace: 'proxy-early',
    podName: 'proxy-early-1',
  });
  await waitFor('both lead, each by its own Lease', () => stable.isLeading() && early.isLeading());
  const ofStable = /\/proxy\.proxy-system\.svc:/;
  const ofEarly = /\/proxy\.proxy-early\.svc:/;
  const isOf = (gateway: string, controller: RegExp): boolean =>
    controller.test(readController(cluster, gateway) ?? '');
  await waitFor('both are deployed', () => isOf('team/edge', ofStable) && isOf('canary/edge', ofEarly));
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
  await waitForCondition(cluster, 'Gateway', 'canary/edge', 'Accepted', 'True');
  await waitForCondition(cluster, 'GatewayClass', 'proxy', 'Accepted', 'True');

  // Both have something to do; neither writes what the other has written.
  const shared = (): unknown[] =>
    [
      cluster.find('GatewayClass', 'proxy'),
      cluster.find('Deployment', 'team/edge-proxy'),
      cluster.find('Deployment', 'canary/edge-proxy'),
    ].map((object) => object?.metadata.resourceVersion);
  const before = shared();
  putRoute(cluster, 'team/tickets', 'team/edge');
  putRoute(cluster, 'canary/tickets', 'canary/edge');
  await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
  await waitForCondition(cluster, 'HTTPRoute', 'canary/tickets', 'Accepted', 'True');
  assert.deepEqual(shared(), before);

  putNamespace(cluster, 'team', 'early');
  await waitFor('the other one takes over', () => isOf('team/edge', ofEarly));
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
  // And it stays there: the first has heard of something later, and did not take it back.
  putNamespace(cluster, 'later', 'stable');
  putGateway(cluster, 'later/edge');
  await waitFor('the first is still at work', () => isOf('later/edge', ofStable));
  assert.ok(isOf('team/edge', ofEarly));
});
