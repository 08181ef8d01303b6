// The Secret with the xDS certificate breaks and goes, under a steady load on two gateway pods and with two replicas of the controller. Expected each time: no
// request fails, no stranger is let through, replicas stay in the Service and say that they are degraded, and gateways connect to replicas that were restarted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import type { ApiObject } from './api-client.ts';
import { createNamespace, createTlsSecret } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import {
  installationNamespace,
  installController,
  type InstalledController,
  type Readiness,
} from './installed-controller.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { waitForEvent } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

claimNamespace('fault-certificate');
const issuer = createAuthority();
const secret = { kind: 'Secret', name: 'proxy-xds-cert', namespace: installationNamespace };
const copy = { ...secret, name: 'proxy-xds-cert-last-good' };
let cluster: Cluster;
let controller: InstalledController;
let gateway: ProtectedGateway;

const makeCertificate = (): ReturnType<typeof createCertificate> =>
  createCertificate({ names: [`proxy.${installationNamespace}.svc`], issuer });

/** Puts a certificate into the Secret; with the key of another one it is of no use. */
async function putCertificate({ cert, key } = makeCertificate()): Promise<string> {
  await cluster.apply(createTlsSecret(secret.name, installationNamespace, { cert, key }, issuer.cert));
  return cert;
}

/** What every replica says; undefined: one of them does not answer. */
async function readAll(): Promise<readonly Readiness[] | undefined> {
  try {
    return await Promise.all(
      (await controller.listPods()).map(
        async ({ status }) => (await (await fetch(`http://${status.podIP ?? ''}:9093/readyz`)).json()) as Readiness,
      ),
    );
  } catch {
    return undefined;
  }
}

const waitUntilDegraded = (problem: RegExp): Promise<boolean> =>
  cluster.waitFor(
    async () => {
      const all = await readAll();
      return (
        all?.length === 2 &&
        all.every((one) => one.ready && /degraded: /.test(JSON.stringify(one)) && problem.test(JSON.stringify(one)))
      );
    },
    { what: 'both replicas are ready and say that they are degraded' },
  );

async function waitForCopy(cert: string): Promise<void> {
  await cluster.waitForObject<ApiObject & { readonly data: Readonly<Record<string, string>> }>(
    locateResource(copy),
    ({ data }) => Buffer.from(data['tls.crt'] ?? '', 'base64').toString() === cert,
    { what: 'the copy has the certificate' },
  );
}

/** All replicas at once: every connection ends, and nobody has a certificate in memory. */
async function restartAll(): Promise<void> {
  await Promise.all(
    (await controller.listPods()).map(({ metadata }) =>
      cluster.signalContainer({ namespace: installationNamespace, pod: metadata.name }, 'SIGKILL'),
    ),
  );
}

before(async () => {
  cluster = await joinCluster();
  await cluster.apply(createNamespace(installationNamespace));
  await putCertificate();
  const values = { controller: { xds: { tls: { enabled: true } } } };
  controller = await installController(cluster, { replicas: 2, values });
  gateway = await deployProtectedGateway(cluster, 2);
});
after(leaveCluster);

test('a key that does not match: gateways connect again, also to replicas that were restarted', async (t) => {
  const load = await gateway.startLoad(t);
  await waitForCopy(await putCertificate());
  await putCertificate({ cert: makeCertificate().cert, key: makeCertificate().key });
  await waitUntilDegraded(/tls\.key does not match tls\.crt/);
  const event = await waitForEvent(cluster, secret, 'CertificateDegraded');
  assert.match(event.note, /tls\.key does not match tls\.crt .*; the last good certificate is served/);
  assert.equal(await controller.readMetric('mcp_gateway_controller_certificate_degraded'), 2);
  await gateway.proveChange(t);
  await restartAll();
  await waitUntilDegraded(/served, from its copy until/);
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('the Secret is deleted, and pods are made anew', async (t) => {
  const load = await gateway.startLoad(t);
  await cluster.api.delete(locateResource(secret));
  await waitUntilDegraded(/are missing/);
  for (const { metadata } of await controller.listPods()) {
    await cluster.api.delete(locateResource({ kind: 'Pod', name: metadata.name, namespace: installationNamespace }));
    await controller.waitUntilReady();
  }
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('a good certificate ends it', async (t) => {
  const load = await gateway.startLoad(t);
  const cert = await putCertificate();
  await cluster.waitFor(async () => (await readAll())?.every((one) => !/degraded/.test(JSON.stringify(one))), {
    what: 'no replica is degraded any more',
  });
  await waitForCopy(cert);
  await restartAll();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});

test('without Secret and copy somebody still leads and tells; with the Secret all is well', async (t) => {
  const load = await gateway.startLoad(t);
  await controller.waitUntilReady();
  await cluster.api.delete(locateResource(secret));
  await waitUntilDegraded(/are missing/);
  // A leader that lives writes the copy anew from its memory, so it goes while nobody lives; whoever was too fast is killed again.
  await cluster.waitFor(
    async () => {
      const all = await readAll();
      if (all?.some(({ ready }) => ready) === true) {
        await restartAll();
        await cluster.delete(createTlsSecret(copy.name, installationNamespace, { cert: '', key: '' }));
      }
      return (
        all?.length === 2 &&
        all.every(({ ready }) => !ready) &&
        all.every((one) => /are missing/.test(JSON.stringify(one)))
      );
    },
    { what: 'no replica has a certificate' },
  );
  await cluster.waitFor(async () => (await controller.readMetric('mcp_gateway_controller_leader')) === 1, {
    what: 'one replica leads all the same',
  });
  await putCertificate();
  await controller.waitUntilReady();
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});
