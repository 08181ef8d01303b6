// The certificate that the controller makes itself: at the first start, by one of several replicas, renewed in time, and never in place of somebody else's.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Watchable } from '../../src/base/watchable.ts';
import { splitCertificates } from '../../src/controller/check-certificate.ts';
import type { CertificateState } from '../../src/controller/choose-certificate.ts';
import { CertificateOfSecret, startCertificateKeeper } from '../../src/controller/keep-certificate.ts';
import { watchSecret } from '../../src/controller/watch-secret.ts';
import { XdsCertificateWatch } from '../../src/controller/xds-certificate.ts';
import type { KubernetesObject } from '../../src/kubernetes/client.ts';
import type { Leadership } from '../../src/kubernetes/leader-election.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import {
  connectGateway,
  putGateway,
  putRoute,
  startCluster,
  startReplica,
  waitForCondition,
  waitForService,
} from './controller-fixture.ts';
import type { FakeApiServer } from './fake-api-server/fake-api-server.ts';

const secretName = 'proxy-system/proxy-xds-cert';
const xds = { generateCertificate: true };

function readFiles(cluster: FakeApiServer, name = secretName): Readonly<Record<string, string>> {
  const data = (cluster.find('Secret', name)?.['data'] ?? {}) as Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
}

describe('a controller that makes its certificate', () => {
  test('serves over TLS without any other step, with two replicas and one Secret', async (context) => {
    const cluster = await startCluster(context);
    putGateway(cluster);
    putRoute(cluster);
    const replicas = await Promise.all(
      // The certificate is also for the Service's name alone, and this is a name that leads here.
      ['proxy-1', 'proxy-2'].map((podName) =>
        startReplica(context, cluster, { podName, serviceName: 'localhost', xds }),
      ),
    );
    for (const replica of replicas) await waitFor('it is ready', () => replica.health.read().ready);
    const files = readFiles(cluster);
    assert.deepEqual(Object.keys(files), ['tls.crt', 'tls.key', 'ca.crt']);
    const leaf = new X509Certificate(files['tls.crt']!);
    assert.equal(
      leaf.subjectAltName,
      'DNS:localhost.proxy-system.svc, DNS:localhost.proxy-system.svc.cluster.local, DNS:localhost.proxy-system, DNS:localhost',
    );
    assert.equal(cluster.find('Secret', secretName)?.['type'], 'kubernetes.io/tls');
    await waitForService(cluster);
    const configMap = await waitFor('the authority is deployed', () => cluster.find('ConfigMap', 'team/edge-proxy'));
    const ca = (configMap['data'] as Record<string, string>)['ca.crt']!;
    assert.equal(ca, files['ca.crt']);
    for (const [index, { xdsPort }] of replicas.entries()) {
      const gateway = connectGateway(context, cluster, {
        port: xdsPort,
        nodeId: `edge-${index}`,
        client: { server: `https://localhost:${xdsPort}`, readCa: () => Promise.resolve(ca) },
      });
      await waitFor('it is configured over TLS', () => gateway.configuration);
    }
    await waitForCondition(cluster, 'Gateway', 'team/edge', 'Programmed', 'True');
    assert.ok(!cluster.list('Event').some(({ reason }) => reason === 'CertificateUnusable'));
    assert.deepEqual(readFiles(cluster), files, 'made once');
  });

  test('makes a new one when it is deleted, and gateways trust the authorities of both', async (context) => {
    const cluster = await startCluster(context);
    const replica = await startReplica(context, cluster, { xds });
    await waitFor('it is ready', () => replica.health.read().ready);
    const before = readFiles(cluster);
    cluster.delete('Secret', secretName);
    const made = await waitFor('there is a new one', () => {
      const files = readFiles(cluster);
      return files['tls.crt'] !== undefined && files['tls.crt'] !== before['tls.crt'] ? files : undefined;
    });
    const [first, second, ...more] = splitCertificates(made['ca.crt']!);
    assert.notEqual(first, before['ca.crt']!.trim());
    assert.equal(second, before['ca.crt']!.trim());
    assert.equal(more.length, 0);
    await waitFor(
      'it is served, and copied',
      () => readFiles(cluster, 'proxy-system/proxy-xds-cert-last-good')['tls.crt'] === made['tls.crt'],
    );
    assert.equal(replica.health.read().ready, true);
  });

  test('uses a Secret of somebody else as it is, says when that breaks, and does not touch it', async (context) => {
    const issuer = createAuthority();
    const { cert, key } = createCertificate({ names: ['proxy.proxy-system.svc'], issuer });
    const encode = (text: string): string => Buffer.from(text).toString('base64');
    const cluster = await startCluster(context);
    const put = (data: Readonly<Record<string, string>>): KubernetesObject =>
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'proxy-system', name: 'proxy-xds-cert' },
        type: 'kubernetes.io/tls',
        data,
      });
    const good = { 'tls.crt': encode(cert), 'tls.key': encode(key), 'ca.crt': encode(issuer.cert) };
    put(good);
    const replica = await startReplica(context, cluster, { xds });
    await waitFor('it is ready', () => replica.health.read().ready);
    const broken = put({ ...good, 'tls.key': encode('broken') });
    const check = await waitFor('it is degraded', () =>
      replica.health.read().checks.find(({ reason = '' }) => reason.startsWith('degraded')),
    );
    assert.match(check.reason!, /tls\.key holds no usable PEM private key \(Secret proxy-system\/proxy-xds-cert\)/);
    assert.equal(replica.health.read().ready, true);
    assert.equal(cluster.find('Secret', secretName)?.metadata.resourceVersion, broken.metadata.resourceVersion);
  });

  test('says what keeps it from making one', async (context) => {
    const cluster = await startCluster(context);
    const warnings: object[] = [];
    const log = { ...silentLog, child: () => log, warn: (fields: object) => void warnings.push(fields) };
    cluster.inject({ verb: 'create', kind: 'Secret', times: 2, fault: { type: 'status', code: 403 } });
    const replica = await startReplica(context, cluster, { xds, log });
    await waitFor('it is told', () => warnings.some((fields) => /create|Secret|forbid/i.test(JSON.stringify(fields))));
    assert.match(replica.health.read().checks.find(({ name }) => name === 'certificate')!.reason!, /is being made/);
    await waitFor('it is ready later', () => replica.health.read().ready);
  });
});

/** A keeper with a clock of the test, and the certificate as a replica sees it. */
async function startKeeper(context: TestContext) {
  const cluster = await startCluster(context);
  const clock = createManualClock(Date.now());
  const client = cluster.connect();
  const common = { client, log: silentLog, namespace: 'proxy-system' };
  const secret = watchSecret({ ...common, name: 'proxy-xds-cert' });
  const copy = watchSecret({ ...common, name: 'proxy-xds-cert-last-good' });
  const leadership = new Watchable<Leadership>({ role: 'leader' });
  const certificate = new XdsCertificateWatch({
    source: new CertificateOfSecret(secret.sighting, 'proxy-system'),
    serverName: 'proxy.proxy-system.svc',
    log: silentLog,
    clock,
  });
  await certificate.start();
  const keeper = startCertificateKeeper({
    ...common,
    leaderClient: client,
    clock,
    random: () => 0.5,
    serviceName: 'proxy',
    secret: secret.sighting,
    copy: copy.sighting,
    certificate: certificate.state,
    leadership,
  });
  context.after(() => Promise.all([keeper.stop(), certificate.stop(), secret.stop(), copy.stop()]));
  /** As if the machine had slept: a step of two seconds for every poll would take long. */
  const pass = async (ms: number): Promise<void> => {
    clock.leap(ms - 10);
    await clock.advance(10);
  };
  const waitForState = (state: CertificateState['state']): Promise<boolean> =>
    waitFor(`the certificate is ${state}`, () => certificate.state.get().state === state);
  return { cluster, pass, leadership, certificate, waitForState };
}

const day = 86_400_000;

describe('the certificate is renewed before it ends', () => {
  test('its authority first, the certificate a day later, and the old authority goes with the one after', async (context) => {
    const { cluster, pass, certificate, waitForState } = await startKeeper(context);
    await waitForState('good');
    const first = readFiles(cluster);
    const problems: (string | undefined)[] = [];
    certificate.problem.subscribe((problem) => problems.push(problem));
    await pass(59 * day);
    assert.deepEqual(readFiles(cluster), first);
    await pass(day);
    const announced = await waitFor('the next one is announced', () => {
      const files = readFiles(cluster);
      return files['next.crt'] === undefined ? undefined : files;
    });
    assert.equal(announced['tls.crt'], first['tls.crt'], 'the certificate is the same');
    assert.equal(splitCertificates(announced['ca.crt']!).length, 2);
    await waitFor('gateways get both authorities', () => certificate.ca.get() === announced['ca.crt']);
    await pass(day - 3_600_000);
    assert.deepEqual(readFiles(cluster), announced);
    await pass(2 * 3_600_000);
    const second = await waitFor('it is used', () => {
      const files = readFiles(cluster);
      return files['tls.crt'] === announced['next.crt'] ? files : undefined;
    });
    assert.deepEqual(Object.keys(second), ['tls.crt', 'tls.key', 'ca.crt']);
    assert.equal(second['ca.crt'], announced['ca.crt']);
    await waitFor('it is served', () => certificate.certificate.get()?.certificateChain === second['tls.crt']);
    await pass(61 * day);
    await waitFor('the one after', () => {
      const authorities = splitCertificates(readFiles(cluster)['ca.crt']!);
      return authorities.length === 2 && !authorities.includes(first['ca.crt']!.trim());
    });
    assert.deepEqual(problems, [], 'it could be used all the time');
  });

  test('only by the leader, and at once when it is too late for an announcement', async (context) => {
    const { cluster, pass, leadership, certificate, waitForState } = await startKeeper(context);
    await waitForState('good');
    const first = readFiles(cluster);
    leadership.set({ role: 'follower', leader: undefined });
    await pass(91 * day);
    await waitForState('none');
    assert.deepEqual(readFiles(cluster), first);
    assert.equal(certificate.canServe.get(), false);
    leadership.set({ role: 'leader' });
    await waitForState('good');
    assert.notEqual(readFiles(cluster)['tls.crt'], first['tls.crt']);
  });
});
