// The connection between gateway and controller is lost without a word, and its certificates are replaced, under a steady load. Expected each time: no
// request fails, no stranger is let through, and what was changed meanwhile arrives.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { program } from '../kit/gateway-program.ts';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import type { ApiObject } from './api-client.ts';
import { createNamespace, createTlsSecret } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { deployProtectedGateway, protectingPolicy, type ProtectedGateway } from './protected-gateway.ts';
import { listConditions, listShortcomings, waitForCondition, waitForEvent } from './resource-conditions.ts';
import { locateResource, type ResourceName } from './resource-paths.ts';
import { CommandFailedError, runCommand } from './run-command.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const home = claimNamespace('fault-xds');
const first = createAuthority('the first authority');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  await cluster.apply(createNamespace(installationNamespace));
  await putCertificate(first, [first]);
  controller = await installController(cluster, { values: { controller: { xds: { tls: { enabled: true } } } } });
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

/** Puts a new certificate into the Secret, with the authorities that gateways are to trust, and returns its number. */
async function putCertificate(issuer: TestAuthority, trusted: readonly TestAuthority[]): Promise<string> {
  const certificate = createCertificate({ names: [`proxy.${installationNamespace}.svc`], issuer });
  const ca = trusted.map(({ cert }) => cert).join('\n');
  await cluster.apply(createTlsSecret('proxy-xds-cert', installationNamespace, certificate, ca));
  return new X509Certificate(certificate.cert).serialNumber;
}

async function waitForCertificate(serialNumber: string): Promise<void> {
  const host = await controller.findAddress();
  const read = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host, port: 9978, ALPNProtocols: ['h2'], timeout: 5_000, rejectUnauthorized: false };
      const socket = connect(options, () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber);
        socket.destroy();
      });
      socket.on('error', reject).on('timeout', () => socket.destroy(new Error('no handshake')));
    });
  await cluster.waitFor(async () => (await read()) === serialNumber, { what: 'the new certificate is shown' });
}

test('packets between gateway and controller are lost: both notice by their pings, and a change arrives after', async (t) => {
  const load = await gateway.startLoad(t);
  const [pod] = await gateway.listPods();
  const isConnected = async (): Promise<boolean> =>
    (await gateway.readMetric(pod!, 'mcp_gateway_controller_connected')) === 1;
  assert.equal(await isConnected(), true);
  const heal = await cluster.blackHole({ from: pod!.status.podIP!, to: await controller.findAddress(), port: 9978 });
  const lostAt = performance.now();
  const since = (): number => Math.round((performance.now() - lostAt) / 1000);
  const change = await gateway.change();
  const readPolicy = (): Promise<ApiObject> => cluster.api.get(locateResource(protectingPolicy));
  await cluster.waitFor(
    async () => {
      assert.notDeepEqual(listShortcomings(await readPolicy()), [], 'the status does not say what is not so');
      return !(await isConnected());
    },
    { what: 'the gateway notices', timeoutMs: 120_000 },
  );
  const noticed = since();
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_xds_streams')) === 1, {
    what: 'the controller notices',
  });
  t.diagnostic(`the gateway noticed after ${noticed} s, both after ${since()} s`);
  // How long that takes is in src/xds/keep-alive.test.ts; the kernel would take a quarter of an hour.
  const logs = async (): Promise<readonly string[]> => [
    await cluster.logs(home, pod!.metadata.name),
    await controller.readLogs(),
  ];
  await cluster.waitFor(
    async () => {
      const [ofGateway = '', ofController = ''] = await logs();
      return (
        ofGateway.includes('the controller no longer answers pings') &&
        ofController.includes('closed a connection that does not answer pings')
      );
    },
    { what: 'both say that it was the pings' },
  );
  assert.notDeepEqual(listShortcomings(await readPolicy()), []);
  assert.equal(await gateway.isEnforced(change.audience), false);
  await heal();
  const healedAt = performance.now();
  await gateway.expectChange(t, { ...change, madeAt: healedAt });
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

const web: ResourceName = { kind: 'Gateway', name: 'web' };

/** Asks again and again, until it is stopped, whether the status promises what is not so. */
function watchPromise(audience: string): {
  readonly seen: { promised: number; passed: number };
  stop(): Promise<void>;
} {
  const readsTrue = async (): Promise<boolean> => {
    const policy = await cluster.api.get(locateResource(protectingPolicy));
    return listConditions(policy).some(
      ({ type, status, observedGeneration }) =>
        type === 'Programmed' && status === 'True' && observedGeneration === policy.metadata.generation,
    );
  };
  const state = { promised: 0, passed: 0, isRunning: true };
  const running = (async () => {
    for (; state.isRunning; await sleep(100)) {
      const pods = await gateway.listPods();
      // Both before and after: in between the promise was made.
      if (!(await readsTrue())) continue;
      const answers = await Promise.all(pods.map((pod) => gateway.isEnforced(audience, [pod]).catch(() => false)));
      if (!(await readsTrue())) continue;
      state.promised += 1;
      state.passed += answers.filter((isLetIn) => isLetIn).length;
    }
  })();
  return {
    seen: state,
    async stop() {
      state.isRunning = false;
      await running;
    },
  };
}

/** What `status` says, and its exit code. */
async function runStatus(): Promise<{ readonly exitCode: number | null; readonly text: string }> {
  const flags = ['--kubeconfig', cluster.access.kubeconfigFile, '-n', home];
  try {
    const { stdout } = await runCommand(process.execPath, [program, 'status', ...flags]);
    return { exitCode: 0, text: stdout };
  } catch (error) {
    if (!(error instanceof CommandFailedError)) throw error;
    return { exitCode: error.exitCode, text: error.stdout };
  }
}

test('one of two gateways is cut off and an audience is revoked: 1 of 2 has it until both have, whatever happens meanwhile', async (t) => {
  const load = await gateway.startLoad(t);
  const revoked = await gateway.change();
  await gateway.expectChange(t, revoked);
  const [cutOff, other] = await gateway.listPods();
  const { name } = cutOff!.metadata;
  const heal = await cluster.blackHole({ from: cutOff!.status.podIP!, to: await controller.findAddress(), port: 9978 });
  const change = await gateway.change();
  const promise = watchPromise(revoked.audience);
  t.after(() => promise.stop());
  const behind = { status: 'False', type: 'Programmed', reason: 'GatewayBehind' } as const;
  const message = new RegExp(`^1 of 2 gateways has this\\. Pod ${name} `);
  await waitForCondition(cluster, protectingPolicy, { ...behind, message });
  // After two seconds, says src/controller/gateway-facts.test.ts.
  t.diagnostic(`the status said 1 of 2 after ${Math.round(performance.now() - change.madeAt)} ms`);
  assert.equal(await gateway.isEnforced(change.audience, [other!]), true);
  assert.equal(await gateway.isEnforced(revoked.audience, [cutOff!]), true, 'it enforces what it had');

  // The connection is found dead, and the grace period ends. Before, this was when the pod was forgotten.
  const lost = new RegExp(`^1 of 2 gateways has this\\. Pod ${name} takes traffic without a connection`);
  await waitForCondition(cluster, web, { ...behind, part: '', message: lost });
  t.diagnostic(`the Gateway said so after ${Math.round(performance.now() - change.madeAt)} ms`);
  await waitForCondition(cluster, protectingPolicy, { ...behind, message: lost });
  assert.match((await waitForEvent(cluster, web, 'GatewayBehind')).note, new RegExp(`Pod ${name} `));
  const countBehind = (): Promise<number> =>
    controller.readMetric('mcp_gateway_controller_behind_gateways', `gateway="${home}/web"`);
  assert.equal(await countBehind(), 1);
  const { exitCode, text } = await runStatus();
  assert.equal(exitCode, 1, text);
  assert.match(text, /GatewayBehind: 1 of 2 gateways has this/);

  // It crashes, and serves the old policy from its snapshot: Ready, and still behind.
  await cluster.signalContainer({ namespace: home, pod: name }, 'SIGKILL');
  const restarts = cutOff!.status.containerStatuses?.[0]?.restartCount ?? 0;
  await cluster.waitForObject<PodObject>(
    locateResource({ kind: 'Pod', name }),
    ({ status: { containerStatuses: [container] = [] } }) =>
      container?.restartCount === restarts + 1 && container.ready,
    { what: 'it is ready again' },
  );
  load.takeFailures(); // those that reached the pod while no process was up
  assert.equal(await gateway.isEnforced(revoked.audience, [cutOff!]), true);
  // The next controller knows only what it sees.
  await restartController();
  await controller.waitUntilReady();
  await cluster.waitFor(async () => (await countBehind()) === 1, { what: 'the next controller has noticed' });
  await waitForCondition(cluster, protectingPolicy, { ...behind, message });

  await heal();
  await gateway.expectChange(t, { ...change, madeAt: performance.now() });
  await cluster.waitFor(async () => (await countBehind()) === 0, { what: 'nothing is behind any more' });
  await cluster.waitForObject(locateResource(web), (object) => listShortcomings(object).length === 0);
  await cluster.waitFor(() => promise.seen.promised >= 10, { what: 'the promise has been looked at' });
  await promise.stop();
  const { promised, passed } = promise.seen;
  t.diagnostic(
    `${passed} requests of the revoked audience passed while the policy was said to be programmed, in ${promised} looks`,
  );
  assert.equal(passed, 0);
  assert.equal((await runStatus()).exitCode, 0);
  await gateway.expectUnharmed(t, load);
});

/** All connections end with the process, and new ones need what the gateway trusts now. */
async function restartController(): Promise<void> {
  const [pod] = await controller.listPods();
  await cluster.signalContainer({ namespace: installationNamespace, pod: pod!.metadata.name }, 'SIGKILL');
}

test('the certificate is replaced by one of the same authority', async (t) => {
  const load = await gateway.startLoad(t);
  await waitForCertificate(await putCertificate(first, [first]));
  await gateway.proveChange(t);
  await restartController();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('the authority is replaced', async (t) => {
  const load = await gateway.startLoad(t);
  const second = createAuthority('the second authority');
  await putCertificate(first, [first, second]);
  await waitForCertificate(await putCertificate(second, [first, second]));
  await restartController();
  await gateway.proveChange(t);
  await waitForCertificate(await putCertificate(second, [second]));
  await restartController();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});
