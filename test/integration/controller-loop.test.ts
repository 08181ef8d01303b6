// The whole way: resources in an API server, through the controller, to gateways over xDS, and back into statuses.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  connectGateway,
  controllerName,
  installation,
  programGateway,
  putGateway,
  putPolicy,
  putRoute,
  readConditions,
  startCluster,
  startReplica,
  waitForCondition,
} from './controller-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

describe('from resources to gateways and back', () => {
  test('a Gateway is deployed, configured, and programmed when its gateway says so', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const replica = await startReplica(context, cluster);
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'False');
    const gateway = await programGateway(context, cluster, replica);
    assert.deepEqual(
      [
        gateway.configuration?.listeners.length,
        gateway.configuration?.routes.length,
        gateway.configuration?.policies.length,
      ],
      [1, 1, 1],
    );
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    await waitForCondition(cluster, 'HTTPRoute', 'team/tickets', 'Accepted', 'True');
    await waitForCondition(cluster, 'ProxyBackend', 'team/tickets', 'Accepted', 'True');
    assert.deepEqual((cluster.find('Gateway', 'team/edge')!['status'] as { addresses: unknown }).addresses, [
      { type: 'IPAddress', value: '192.0.2.10' },
    ]);
    const gatewayClass = cluster.find('GatewayClass', 'proxy')!;
    assert.equal((gatewayClass['spec'] as { controllerName: string }).controllerName, controllerName);
    await waitForCondition(cluster, 'GatewayClass', 'proxy', 'Accepted', 'True');

    // A change of the spec has its generation in the status, and reaches the gateway.
    putPolicy(cluster, 'team/cors', 'tickets', 'https://b.example');
    const { generation } = cluster.find('ProxyPolicy', 'team/cors')!.metadata;
    await waitFor('the status is of the new generation', () => {
      const { Programmed } = readConditions(cluster.find('ProxyPolicy', 'team/cors'));
      return Programmed?.status === 'True' && Programmed.observedGeneration === generation;
    });
    const [policy] = gateway.configuration!.policies;
    assert.deepEqual(policy!.spec.case === 'cors' ? policy!.spec.value.allowOrigins : [], ['https://b.example']);
  });

  test('nothing is served, deployed or written from caches that are not complete', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const held = Promise.withResolvers<void>();
    cluster.inject({
      verb: 'list',
      kind: 'ProxyPolicy',
      times: Infinity,
      fault: { type: 'wait', until: held.promise },
    });
    const replica = await startReplica(context, cluster);
    const gateway = connectGateway(context, cluster, { port: replica.xdsPort });
    await waitFor('the gateway was turned away', () => gateway.disconnects.length > 0);
    await waitFor('it leads', () => replica.isLeading());
    assert.match(gateway.disconnects[0]!, /still reading the cluster/);
    assert.equal(replica.health.read().ready, false);
    assert.match(replica.health.read().checks.find(({ name }) => name === 'caches')!.reason!, /ProxyPolicy|read/);
    const writes = cluster.requests.filter(
      ({ verb, kind }) => ['create', 'update', 'apply', 'patch'].includes(verb) && kind !== 'Lease',
    );
    assert.deepEqual(
      writes.map(({ verb, kind }) => `${verb} ${kind}`),
      [],
    );
    assert.equal(gateway.configuration, undefined);
    held.resolve();
    const configuration = await waitFor('it is configured', () => gateway.configuration);
    assert.equal(configuration.policies.length, 1, 'the first configuration has the policy in it');
    assert.equal(replica.health.read().ready, true);
  });

  test('a policy that the gateway rejects has its words in the status and as an Event, and heals', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    putPolicy(cluster);
    const replica = await startReplica(context, cluster);
    const isBad = (text: string): boolean => text.includes('bad');
    await programGateway(context, cluster, replica, {
      judge: ({ policies }) =>
        policies
          .filter(({ spec }) => spec.case === 'cors' && spec.value.allowOrigins.some(isBad))
          .map(({ key }) => ({ list: 'policies' as const, key, message: 'that origin is bad' })),
    });
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
    putPolicy(cluster, 'team/cors', 'tickets', 'https://bad.example');
    const rejected = await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'False', 'Rejected');
    assert.match(rejected.message, /that origin is bad/);
    const event = await waitFor('there is an Event', () =>
      cluster.list('Event').find(({ reason }) => reason === 'Rejected'),
    );
    assert.equal((event['regarding'] as { name: string }).name, 'cors');
    assert.match(String(event['note']), /that origin is bad/);
    assert.match(await replica.metrics.expose(), /^mcp_gateway_controller_xds_nacks_total\{type="policies"\} 1$/m);
    putPolicy(cluster, 'team/cors', 'tickets', 'https://good.example');
    await waitForCondition(cluster, 'ProxyPolicy', 'team/cors', 'Programmed', 'True');
  });

  test('seal keys are made in the installation namespace, reach the gateway, and go with the Gateway', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    cluster.put({
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { namespace: 'team', name: 'login' },
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }],
        backend: {
          mcp: { authentication: { issuer: 'https://idp.example.com', audiences: ['tickets'], flow: 'Direct' } },
        },
      },
    });
    const replica = await startReplica(context, cluster);
    const gateway = await programGateway(context, cluster, replica);
    await waitFor('the keys are there', () => gateway.configuration?.secrets.some(({ key }) => key === 'SealKeys'));
    const [secret] = cluster.list('Secret');
    assert.equal(secret!.metadata.namespace, installation);
    cluster.delete('Gateway', 'team/edge');
    await waitFor('the keys are gone', () => cluster.list('Secret').length === 0);
  });

  test('a round that throws is counted, stops nothing, and what was there stays', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const { createTranslator } = await import('../../src/translate/translate.ts');
    const translator = createTranslator({ placement: 'pods' });
    const replica = await startReplica(context, cluster, {
      translate(resources) {
        if (resources.httpRoutes.some(({ metadata }) => metadata.name === 'poison'))
          throw new Error('a mistake of ours');
        return translator.translate(resources);
      },
    });
    const gateway = await programGateway(context, cluster, replica);
    const before = cluster.find('Gateway', 'team/edge')!['status'];
    const applied = gateway.applied;
    putRoute(cluster, 'team/poison');
    await waitFor('a round failed', async () =>
      /^mcp_gateway_controller_reconciles_total\{result="error"\} [1-9]/m.test(await replica.metrics.expose()),
    );
    assert.deepEqual(cluster.find('Gateway', 'team/edge')!['status'], before);
    assert.equal(gateway.applied, applied);
    assert.equal(replica.health.read().ready, true);
    cluster.delete('HTTPRoute', 'team/poison');
    putRoute(cluster, 'team/second');
    await waitFor('it goes on', () => gateway.configuration?.routes.length === 2);
  });

  test('a GatewayClass of another controller is left alone, and its Gateways too', async (context) => {
    const cluster = await startCluster(context);
    cluster.put({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: 'proxy' },
      spec: { controllerName: 'example.com/other' },
    });
    putGateway(cluster);
    const replica = await startReplica(context, cluster);
    await waitFor('there is an Event', () => cluster.list('Event').find(({ reason }) => reason === 'NotOwned'));
    await waitFor('it is ready', () => replica.health.read().ready);
    assert.equal(
      (cluster.find('GatewayClass', 'proxy')!['spec'] as { controllerName: string }).controllerName,
      'example.com/other',
    );
    assert.equal(cluster.find('Gateway', 'team/edge')!['status'], undefined);
    assert.equal(cluster.find('Deployment', 'team/edge-proxy'), undefined);
    cluster.delete('GatewayClass', 'proxy');
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
    cluster.delete('GatewayClass', 'proxy');
    await waitFor('it is made again', () => cluster.find('GatewayClass', 'proxy'));
  });
});
