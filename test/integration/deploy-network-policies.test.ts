// NetworkPolicies of gateways: deployed with the other objects where the installation asks for them, repaired, and not even asked for elsewhere.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { startDeployer } from '../../src/deploy/deployer.ts';
import { usualSettings } from '../../src/deploy/testdata/read-plan.ts';
import { waitFor } from '../kit/wait-for.ts';
import { quick, startDeployFixture } from './deploy-fixture.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';

const settings = {
  ...usualSettings,
  networkPolicy: { controller: { app: 'proxy' }, clients: [], metrics: [], upstreams: [] },
};

interface LivePolicy {
  readonly spec: { readonly ingress: readonly { readonly ports: readonly { readonly port: number }[] }[] };
}

function readListeners(cluster: FakeApiServer): readonly number[] | undefined {
  const policy = cluster.find('NetworkPolicy', 'default/web-proxy') as unknown as LivePolicy | undefined;
  return policy?.spec.ingress[0]?.ports.map(({ port }) => port);
}

function startIsolating(context: TestContext, cluster: FakeApiServer): ReturnType<typeof startDeployer> {
  const deployer = startDeployer({
    client: cluster.connect(),
    log: silentLog,
    events: { record: () => {} },
    hasNetworkPolicies: true,
    retryMs: [1, 4],
    watchTiming: quick,
  });
  context.after(() => deployer.stop());
  return deployer;
}

test('it follows the listeners, and is there again when somebody deletes it', async (context) => {
  const cluster = await startFakeApiServer(context);
  const { makeGateway, plan, deployer: other } = await startDeployFixture(context, cluster);
  await other.stop();
  const deployer = startIsolating(context, cluster);
  const planned = plan(makeGateway('web'));
  deployer.reconcile({ plans: [planned], held: [], settings });
  await waitFor('it is deployed', () => readListeners(cluster) !== undefined);
  assert.deepEqual(readListeners(cluster), [80]);
  const more = { ...planned, ports: [...planned.ports, { name: 'more', port: 8443 }] };
  deployer.reconcile({ plans: [more], held: [], settings });
  await waitFor('it has the new listener', () => readListeners(cluster)?.length === 2);
  cluster.delete('NetworkPolicy', 'default/web-proxy');
  await waitFor('it is there again', () => readListeners(cluster)?.length === 2);
  // Without the setting it is a leftover, for a deployer that may remove it.
  deployer.reconcile({ plans: [more], held: [], settings: usualSettings });
  await waitFor('it is gone', () => readListeners(cluster) === undefined);
});

test('an installation without them never asks for them', async (context) => {
  const { cluster, deploy, makeGateway, plan } = await startDeployFixture(context);
  await deploy(plan(makeGateway('web')));
  assert.deepEqual(
    cluster.requests.filter(({ path }) => path.includes('networkpolicies')),
    [],
  );
});
