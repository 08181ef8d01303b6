// xDS over TLS between two replicas of the controller and two pods of a gateway: a Secret that is missing at first, replaced, broken, and signed by another authority.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import { createEcho, createGateway, createRoute, createTlsSecret, toService } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { listDeployed, listGatewayPods, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import {
  installationNamespace,
  installController,
  type InstalledController,
  removeController,
} from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { waitForEvent, waitUntilWell } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';
import { startSteadyLoad } from './steady-load.ts';

const namespace = claimNamespace('xds-tls');
const serverName = `proxy.${installationNamespace}.svc`;
const authority = createAuthority('the first authority');
let cluster: Cluster;
let controller: InstalledController;

/** Puts a new certificate into the Secret, and returns its number. */
async function putCertificate(issuer: TestAuthority): Promise<string> {
  const certificate = createCertificate({ names: [serverName], issuer });
  await cluster.apply(createTlsSecret('proxy-xds-cert', installationNamespace, certificate, issuer.cert));
  return new X509Certificate(certificate.cert).serialNumber;
}

const isReady = ({ status }: PodObject): boolean =>
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/** The numbers of the certificates that the replicas show. */
async function readSerialNumbers(): Promise<readonly string[]> {
  const pods = await controller.listPods();
  return Promise.all(
    pods.map(
      ({ status }) =>
        new Promise<string>((resolve, reject) => {
          const options = { host: status.podIP ?? '', port: 9978, ALPNProtocols: ['h2'], timeout: 5_000 };
          const socket = connect({ ...options, rejectUnauthorized: false }, () => {
            resolve(socket.getPeerX509Certificate()?.serialNumber ?? '');
            socket.destroy();
          });
          socket.on('error', reject).on('timeout', () => socket.destroy(new Error('no handshake')));
        }),
    ),
  );
}

const waitForCertificate = (serialNumber: string): Promise<boolean> =>
  cluster.waitFor(async () => (await readSerialNumbers()).every((shown) => shown === serialNumber), {
    what: 'all replicas show the new certificate',
  });

/** A new route gets through from the API server to every pod of the gateway and back into the status. */
async function proveConnected(name: string, address: string): Promise<void> {
  await cluster.apply(createRoute(name, { path: `/${name}`, to: toService('echo') }));
  await waitUntilWell(cluster, [{ kind: 'HTTPRoute', name }]);
  await cluster.waitFor(
    async () => {
      const pods = (await listGatewayPods(cluster, 'web')).map(({ status }) => status.podIP ?? '');
      const answers = await Promise.all([address, ...pods].map((each) => fetch(`http://${each}/${name}`)));
      return pods.length === 2 && answers.every(({ status }) => status === 200);
    },
    { what: `/${name} is served by both pods` },
  );
}

before(async () => {
  cluster = await joinCluster();
  // One without TLS would deploy the gateway.
  await removeController(cluster);
  // Of other files too: with the copy of a good certificate it would serve.
  for (const name of ['proxy-xds-cert', 'proxy-xds-cert-last-good'])
    await cluster.delete(createTlsSecret(name, installationNamespace, { cert: '', key: '' }));
  await cluster.apply([
    ...createEcho('echo'),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'two', namespace },
      spec: { replicas: 2 },
    },
    createGateway('web', {
      infrastructure: { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'two' } },
    }),
  ]);
});
after(leaveCluster);

test('without its Secret the controller starts, and says what is missing', async () => {
  const values = { controller: { xds: { tls: { enabled: true } } } };
  controller = await installController(cluster, { replicas: 2, values, waitsUntilReady: false });
  await cluster.waitFor(async () => JSON.stringify(await controller.readReadiness()).includes('tls.crt and tls.key'), {
    what: 'the readiness names what is missing',
  });
  const [pod] = await controller.listPods();
  assert.ok(pod !== undefined && !isReady(pod));
  const event = await waitForEvent(
    cluster,
    { kind: 'Pod', name: pod.metadata.name, namespace: installationNamespace },
    'CertificateUnusable',
  );
  assert.match(event.note, /tls\.crt and tls\.key and ca\.crt are missing/);
  assert.deepEqual(await listDeployed(cluster, 'web'), [], 'no gateway could trust it yet');
});

test('with its Secret it comes up by itself, and so does the gateway', async () => {
  await putCertificate(authority);
  await controller.waitUntilReady();
  const address = await waitUntilReachable(cluster, 'web');
  await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web' }]);
  await proveConnected('first', address);
  assert.ok((await listDeployed(cluster, 'web')).some((object) => object.startsWith('ConfigMap ')));
});

test('a new certificate is shown without a restart, and no request suffers', async () => {
  const address = await waitUntilReachable(cluster, 'web');
  const pods = await controller.listPods();
  const load = startSteadyLoad(`http://${address}/first`);
  const serialNumber = await putCertificate(authority);
  await waitForCertificate(serialNumber);
  await proveConnected('second', address);
  await load.stop();
  assert.deepEqual(load.failures, []);
  const listRestarts = (some: readonly PodObject[]): readonly string[] =>
    some.map(({ metadata, status }) => `${metadata.name} ${status.containerStatuses?.[0]?.restartCount}`).toSorted();
  assert.deepEqual(listRestarts(await controller.listPods()), listRestarts(pods));
});

test('a certificate that cannot be used leaves the one before in force, and is told', async () => {
  const address = await waitUntilReachable(cluster, 'web');
  const [serialNumber] = await readSerialNumbers();
  const { cert } = createCertificate({ names: [serverName], issuer: authority });
  const { key } = createCertificate({ names: [serverName], issuer: authority });
  await cluster.apply(createTlsSecret('proxy-xds-cert', installationNamespace, { cert, key }, authority.cert));
  await cluster.waitFor(
    async () => JSON.stringify(await controller.readReadiness()).includes('tls.key does not match tls.crt'),
    { what: 'the readiness says what is wrong' },
  );
  assert.equal((await controller.readReadiness()).ready, true, 'and that it serves all the same');
  assert.deepEqual(new Set(await readSerialNumbers()), new Set([serialNumber]));
  await proveConnected('third', address);
  await putCertificate(authority);
  await controller.waitUntilReady();
});

test('another authority: gateways learn of it, and find new replicas by it', async () => {
  const address = await waitUntilReachable(cluster, 'web');
  const pods = await listGatewayPods(cluster, 'web');
  const load = startSteadyLoad(`http://${address}/first`);
  await waitForCertificate(await putCertificate(createAuthority('the second authority')));
  // All connections end with the replicas; new ones need the new authority.
  for (const { metadata } of await controller.listPods())
    await cluster.api.delete(locateResource({ kind: 'Pod', name: metadata.name, namespace: installationNamespace }));
  await controller.waitUntilReady();
  await proveConnected('fourth', address);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(
    (await listGatewayPods(cluster, 'web')).map(({ metadata }) => metadata.name),
    pods.map(({ metadata }) => metadata.name),
    'the pods of the gateway are the same',
  );
});

test('a Gateway that is deleted leaves nothing behind', async () => {
  await cluster.delete(createGateway('web'));
  await cluster.waitFor(async () => (await listDeployed(cluster, 'web')).length === 0, {
    what: 'nothing of the Gateway is left',
  });
});
