// A Secret that breaks: the last good certificate serves, new connections and restarted replicas included, and a leader without any gives the Lease away.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  connectGateway,
  putGateway,
  putRoute,
  type Replica,
  startCluster,
  startReplica,
  waitForCondition,
  waitForService,
} from '../integration/controller-fixture.ts';
import type { Cleanup, FakeApiServer } from '../integration/fake-api-server/fake-api-server.ts';

const copyName = 'proxy-system/proxy-xds-cert-last-good';

function createFolder(context: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-xds-fault-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Puts a new certificate into the folder, and returns it. */
function writeCertificate(folder: string, issuer: TestAuthority, notAfter?: Date): string {
  const names = ['proxy.proxy-system.svc', 'localhost'];
  const { cert, key } = createCertificate({ names, issuer, ...(notAfter !== undefined && { notAfter }) });
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'ca.crt'), issuer.cert);
  return cert;
}

const readEntry = (secret: KubernetesObject | undefined, key: string): string | undefined => {
  const text = (secret?.['data'] as Record<string, string> | undefined)?.[key];
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString();
};

const readCheck = ({ health }: Replica) => health.read().checks.find(({ name }) => name === 'certificate')!;

const waitForCopy = (cluster: FakeApiServer, cert: string): Promise<boolean> =>
  waitFor('there is a copy', () => readEntry(cluster.find('Secret', copyName), 'tls.crt') === cert);

function connect(context: Cleanup, cluster: FakeApiServer, replica: Replica, nodeId: string, ca: string) {
  return connectGateway(context, cluster, {
    port: replica.xdsPort,
    nodeId,
    client: { server: `https://localhost:${replica.xdsPort}`, readCa: () => Promise.resolve(ca) },
  });
}

describe('a Secret that cannot be used any more', () => {
  test('leaves the replica ready and degraded, for new connections too, and is told; it recovers by itself', async (context) => {
    const folder = createFolder(context);
    const authority = createAuthority();
    const cert = writeCertificate(folder, authority);
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitForCopy(cluster, cert);
    assert.equal(readEntry(cluster.find('Secret', copyName), 'ca.crt'), authority.cert);
    writeFileSync(join(folder, 'tls.key'), createCertificate({ names: ['other'] }).key);
    await waitFor('it says that it is degraded', () => readCheck(replica).reason?.startsWith('degraded: '));
    assert.match(
      readCheck(replica).reason!,
      /^degraded: tls\.key does not match tls\.crt \(Secret proxy-xds-cert, mounted at .*\); the last good certificate is served until 2/,
    );
    await waitFor('it is ready', () => replica.health.read().ready);
    assert.match(await replica.metrics.expose(), /^mcp_gateway_controller_certificate_degraded 1$/m);
    const event = await waitFor('there is an Event', () =>
      cluster.list('Event').find(({ reason }) => reason === 'CertificateDegraded'),
    );
    const { kind, name } = event['regarding'] as { readonly kind: string; readonly name: string };
    assert.deepEqual([kind, name], ['Secret', 'proxy-xds-cert']);
    await waitForService(cluster);
    const gateway = connect(context, cluster, replica, 'edge-1', authority.cert);
    await waitFor('a gateway that connects now is configured', () => gateway.configuration);

    const next = writeCertificate(folder, authority);
    await waitFor('it is well again', () => readCheck(replica).reason === undefined);
    await waitForCopy(cluster, next);
    assert.match(await replica.metrics.expose(), /^mcp_gateway_controller_certificate_degraded 0$/m);
  });

  test('does not stop a replica that is restarted: it serves from the copy, and leads', async (context) => {
    const folder = createFolder(context);
    const authority = createAuthority();
    const cert = writeCertificate(folder, authority);
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const before = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitForCopy(cluster, cert);
    await waitForService(cluster);
    await before.stopOnce();
    rmSync(folder, { recursive: true });
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitFor('it is ready', () => replica.health.read().ready);
    assert.match(
      readCheck(replica).reason!,
      /^degraded: .* are missing .*; the last good certificate is served, from its copy/,
    );
    const gateway = connect(context, cluster, replica, 'edge-1', authority.cert);
    await waitFor('a gateway is configured', () => gateway.configuration);
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    assert.equal(readEntry(cluster.find('Secret', copyName), 'tls.crt'), cert, 'the copy stays');
    assert.ok(!cluster.list('Event').some(({ reason }) => reason === 'CertificateUnusable'), 'no false alarm');
    assert.equal(
      cluster.find('Lease', 'proxy-system/proxy-controller')?.metadata.annotations?.['gateway.proxy/leader-unfit'],
      undefined,
    );
  });

  test('and a certificate that has expired serve nobody: not ready, and the reason says so', async (context) => {
    const folder = createFolder(context);
    const authority = createAuthority();
    const cert = writeCertificate(folder, authority, new Date(Date.now() + 4_000));
    const cluster = await startCluster(context);
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitForCopy(cluster, cert);
    rmSync(join(folder, 'tls.key'));
    await waitFor('it is not ready any more', () => !readCheck(replica).ready);
    assert.match(readCheck(replica).reason!, /the last good certificate expired at 2.*, and gateways refuse it/);
    assert.match(await replica.metrics.expose(), /^mcp_gateway_controller_certificate_missing 1$/m);
    await replica.stopOnce();
    const restarted = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitFor('the copy does not help', () => /nor can the copy/.test(readCheck(restarted).reason ?? ''));
    assert.match(readCheck(restarted).reason!, /be used: tls\.crt has expired/);
    assert.equal(restarted.health.read().ready, false);
    await waitFor('it leads all the same: nobody else does', () => restarted.isLeading());
  });

  test("of the name of the copy is somebody else's: it is neither used nor touched", async (context) => {
    const folder = createFolder(context);
    const authority = createAuthority();
    const { cert, key } = createCertificate({ names: ['proxy.proxy-system.svc'], issuer: authority });
    const encode = (text: string): string => Buffer.from(text).toString('base64');
    const cluster = await startCluster(context);
    const { metadata } = cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'proxy-system', name: 'proxy-xds-cert-last-good' },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': encode(cert), 'tls.key': encode(key), 'ca.crt': encode(authority.cert) },
    });
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitFor('it leads', () => replica.isLeading());
    assert.equal(replica.health.read().ready, false);
    writeCertificate(folder, authority);
    await waitFor('it is ready', () => replica.health.read().ready);
    putGateway(cluster);
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
    assert.equal(cluster.find('Secret', copyName)?.metadata.resourceVersion, metadata.resourceVersion);
  });
});

test('a leader without a certificate gives the Lease to a replica that has one, and gets both back in order', async (context) => {
  const [empty, full] = [createFolder(context), createFolder(context)];
  const authority = createAuthority();
  const cert = writeCertificate(full, authority);
  const cluster = await startCluster(context);
  putGateway(cluster);
  putRoute(cluster);
  const blind = await startReplica(context, cluster, { podName: 'proxy-1', xds: { tlsFolder: empty } });
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
  assert.equal(blind.isLeading(), true, 'somebody has to write statuses');
  const able = await startReplica(context, cluster, { podName: 'proxy-2', xds: { tlsFolder: full } });
  await waitFor('the other one leads', () => able.isLeading());
  assert.equal(blind.isLeading(), false);
  // The new leader keeps a copy, and with it the first one can serve too.
  await waitForCopy(cluster, cert);
  await waitFor('the first one is ready', () => blind.health.read().ready);
  await waitForService(cluster);
  connect(context, cluster, blind, 'edge-1', authority.cert);
  await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
  assert.equal(able.isLeading(), true);
});
