// The connection between gateway and controller is lost without a word, and its certificates are replaced, under a steady load. Expected each time: no
// request fails, no stranger is let through, and what was changed meanwhile arrives.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import type { ApiObject } from './api-client.ts';
import { createNamespace, createTlsSecret } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, installController, type InstalledController } from './installed-controller.ts';
import { deployProtectedGateway, protectingPolicy, type ProtectedGateway } from './protected-gateway.ts';
import { listShortcomings } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

claimNamespace('fault-xds');
const first = createAuthority('the first authority');
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  await cluster.apply(createNamespace(installationNamespace));
  await putCertificate(first, [first]);
  controller = await installController(cluster, { values: { controller: { xds: { tls: { enabled: true } } } } });
  gateway = await deployProtectedGateway(cluster);
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

test('packets between gateway and controller are lost: both notice within a minute, and a change arrives after', async (t) => {
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
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_xds_streams')) === 0, {
    what: 'the controller notices',
  });
  t.diagnostic(`the gateway noticed after ${noticed} s, both after ${since()} s`);
  assert.ok(noticed <= 60, `the gateway noticed after ${noticed} s`);
  assert.notDeepEqual(listShortcomings(await readPolicy()), []);
  assert.equal(await gateway.isEnforced(change.audience), false);
  await heal();
  const healedAt = performance.now();
  await gateway.expectChange(t, { ...change, madeAt: healedAt });
  await gateway.proveChange(t);
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
