// xDS over TLS: without a usable certificate a replica is not ready and says why; with one, gateways are deployed with its authority.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createAuthority, createCertificate, type TestAuthority } from '../self-signed-certificate.ts';
import {
  connectGateway,
  putGateway,
  putRoute,
  startCluster,
  startReplica,
  waitForCondition,
  waitForService,
} from './controller-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const names = ['proxy.proxy-system.svc', '127.0.0.1'];

function writeCertificate(folder: string, authority: TestAuthority): void {
  const { cert, key } = createCertificate({ names, issuer: authority });
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'ca.crt'), authority.cert);
}

describe('xDS over TLS', () => {
  test('a missing certificate keeps it from being ready and from deploying, and is told; it comes up by itself', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-xds-tls-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const authority = createAuthority();
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Accepted', 'True');
    const check = replica.health.read().checks.find(({ name }) => name === 'certificate')!;
    assert.equal(check.ready, false);
    assert.match(check.reason!, /tls\.crt and tls\.key and ca\.crt are missing/);
    assert.equal(replica.health.read().ready, false);
    assert.equal(cluster.find('Deployment', 'team/edge-proxy'), undefined);
    const event = await waitFor('there is an Event', () =>
      cluster.list('Event').find(({ reason }) => reason === 'CertificateUnusable'),
    );
    assert.equal((event['regarding'] as { name: string }).name, 'proxy-1');
    assert.ok(!cluster.list('Event').some(({ reason }) => reason === 'PlaintextXds'));

    writeCertificate(folder, authority);
    await waitFor('it is ready', () => replica.health.read().ready);
    await waitForService(cluster);
    const configMap = await waitFor('the authority is deployed', () => cluster.find('ConfigMap', 'team/edge-proxy'));
    assert.equal((configMap['data'] as Record<string, string>)['ca.crt'], authority.cert);
    const gateway = connectGateway(context, cluster, {
      port: replica.xdsPort,
      client: { server: `https://127.0.0.1:${replica.xdsPort}`, readCa: () => Promise.resolve(authority.cert) },
    });
    await waitFor('it is configured over TLS', () => gateway.configuration);
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    assert.match(
      await replica.metrics.expose(),
      /^mcp_gateway_controller_certificate_expiry_timestamp_seconds [1-9]\d+$/m,
    );
  });

  test('a new authority reaches gateways that are deployed, and new connections have the new certificate', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-xds-tls-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const [first, second] = [createAuthority('First'), createAuthority('Second')];
    writeCertificate(folder, first);
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replica = await startReplica(context, cluster, { xds: { tlsFolder: folder } });
    await waitForService(cluster);
    const connect = (nodeId: string, ca: string) =>
      connectGateway(context, cluster, {
        port: replica.xdsPort,
        nodeId,
        client: { server: `https://127.0.0.1:${replica.xdsPort}`, readCa: () => Promise.resolve(ca) },
      });
    const before = connect('edge-1', first.cert);
    await waitFor('the first is configured', () => before.configuration);
    writeCertificate(folder, second);
    await waitFor('the new authority is deployed', () => {
      const data = cluster.find('ConfigMap', 'team/edge-proxy')?.['data'] as Record<string, string> | undefined;
      return data?.['ca.crt'] === second.cert;
    });
    const after = connect('edge-2', second.cert);
    await waitFor('the second is configured', () => after.configuration);
    assert.deepEqual(before.disconnects, [], 'a connection that is open stays');
  });

  test('followers reach the leader over TLS by its address', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-xds-tls-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const authority = createAuthority();
    // As in a cluster: the certificate is for the Service, not for addresses.
    const { cert, key } = createCertificate({ names: ['proxy.proxy-system.svc', 'localhost'], issuer: authority });
    for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert }))
      writeFileSync(join(folder, name), text);
    const cluster = await startCluster(context);
    putGateway(cluster);
    const leader = await startReplica(context, cluster, { podName: 'proxy-1', xds: { tlsFolder: folder } });
    await waitFor('the first leads', () => leader.isLeading());
    const follower = await startReplica(context, cluster, { podName: 'proxy-2', xds: { tlsFolder: folder } });
    await waitForService(cluster);
    connectGateway(context, cluster, {
      port: follower.xdsPort,
      client: { server: `https://localhost:${follower.xdsPort}`, readCa: () => Promise.resolve(authority.cert) },
    });
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    assert.match(await leader.metrics.expose(), /^mcp_gateway_controller_relayed_gateways 1$/m);
  });
});

describe('xDS without TLS', () => {
  test('is told as an Event beside the Service of the controller, by the leader only', async (context) => {
    const cluster = await startCluster(context);
    const { uid } = cluster.put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'proxy-system', name: 'proxy' },
    }).metadata;
    const leader = await startReplica(context, cluster, { podName: 'proxy-1' });
    await waitFor('the first leads', () => leader.isLeading());
    await startReplica(context, cluster, { podName: 'proxy-2' });
    const list = () => cluster.list('Event').filter(({ reason }) => reason === 'PlaintextXds');
    const [event] = await waitFor('there is an Event', () => (list().length > 0 ? list() : undefined));
    assert.deepEqual([event!['type'], event!['reportingInstance']], ['Warning', 'proxy-1']);
    assert.deepEqual(event!['regarding'], {
      apiVersion: 'v1',
      kind: 'Service',
      namespace: 'proxy-system',
      name: 'proxy',
      uid,
    });
    assert.equal(list().length, 1);
  });
});
