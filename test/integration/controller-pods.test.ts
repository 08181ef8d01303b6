// A gateway pod that takes traffic without a connection: statuses, Events and metrics say so, and nothing is called programmed meanwhile.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Configuration } from '../../src/ir/configuration.ts';
import type { ApplyOutcome } from '../../src/xds/client.ts';
import {
  connectGateway,
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

/** The EndpointSlice that Kubernetes keeps for the Service of the Gateway: with its labels, and with the pods that are ready. */
function putReadyPods(cluster: FakeApiServer, ...pods: readonly string[]): void {
  const service = cluster.find('Service', 'team/edge-proxy')!;
  cluster.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'team',
      name: 'edge-proxy-1',
      labels: { ...service.metadata.labels, 'kubernetes.io/service-name': 'edge-proxy' },
    },
    addressType: 'IPv4',
    endpoints: pods.map((name, index) => ({
      addresses: [`10.0.0.${index + 1}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'team', name },
    })),
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  });
}

/** Every Programmed that was written for this generation of the policy. */
function listProgrammed(cluster: FakeApiServer, generation: number): readonly string[] {
  return cluster.requests.flatMap(({ verb, kind, subresource, body }) => {
    if (verb !== 'update' || kind !== 'ProxyPolicy' || subresource !== 'status') return [];
    const { Programmed } = readConditions(body as Parameters<typeof readConditions>[0]);
    return Programmed?.observedGeneration === generation ? Programmed.status : [];
  });
}

const lostPod = /^1 of 2 gateways has this\. Pod edge-a takes traffic without a connection to the controller/;

describe('a pod that takes traffic and is not connected', () => {
  test('a change is not programmed before that pod has it, also after a restart of the controller', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const first = await startReplica(context, cluster);
    await waitForService(cluster);
    const lost = connectGateway(context, cluster, { port: first.xdsPort, nodeId: 'edge-a' });
    const other = connectGateway(context, cluster, { port: first.xdsPort, nodeId: 'edge-b' });
    await waitFor('both have it', () => [lost, other].every(({ configuration }) => configuration !== undefined));
    putReadyPods(cluster, 'edge-a', 'edge-b');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');

    await lost.close();
    putPolicy(cluster, 'team/cors', 'tickets', 'https://b.example');
    const behind = await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'False', 'GatewayBehind');
    assert.match(behind.message, lostPod);
    const event = await waitFor('an Event tells', () =>
      cluster.list('Event').find((each) => each['reason'] === 'GatewayBehind'),
    );
    assert.match(String(event['note']), /Pod edge-a takes traffic/);
    assert.match(await first.metrics.expose(), /^mcp_gateway_controller_behind_gateways\{gateway="team\/edge"\} 1$/m);

    await first.stopOnce();
    await other.close();
    assert.doesNotMatch(await first.metrics.expose(), /^mcp_gateway_controller_behind_gateways\{/m, 'it leads no more');
    const second = await startReplica(context, cluster, { podName: 'proxy-2' });
    const next = connectGateway(context, cluster, { port: second.xdsPort, nodeId: 'edge-b' });
    await waitFor('it leads, and one pod has everything', () => second.isLeading() && next.configuration);
    // The other one comes back, and takes its time to apply what it gets.
    const { promise: applied, resolve: apply } = Promise.withResolvers<ApplyOutcome>();
    let received: Configuration | undefined;
    connectGateway(context, cluster, {
      port: second.xdsPort,
      nodeId: 'edge-a',
      client: {
        apply(configuration) {
          received = configuration;
          return applied;
        },
      },
    });
    await waitFor('the other one is about to answer', () => received);
    assert.ok(!listProgrammed(cluster, 2).includes('True'), 'it was said to be programmed');
    apply({ problems: [] });
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    assert.match(await second.metrics.expose(), /^mcp_gateway_controller_behind_gateways\{gateway="team\/edge"\} 0$/m);
  });

  test('when it takes no traffic any more, it is not waited for', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const replica = await startReplica(context, cluster);
    await waitForService(cluster);
    const lost = connectGateway(context, cluster, { port: replica.xdsPort, nodeId: 'edge-a' });
    connectGateway(context, cluster, { port: replica.xdsPort, nodeId: 'edge-b' });
    await waitFor('it has it', () => lost.configuration);
    putReadyPods(cluster, 'edge-a', 'edge-b');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    await lost.close();
    putPolicy(cluster, 'team/cors', 'tickets', 'https://b.example');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'False');
    putReadyPods(cluster, 'edge-b');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
  });
});
