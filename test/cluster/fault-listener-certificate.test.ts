// The Secret of an HTTPS listener is deleted for three seconds under a steady load, and broken, with two gateway pods: no request fails, every connection gets the last
// good certificate, and the status says so. A grant that is revoked closes at once all the same.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createCertificate } from '../self-signed-certificate.ts';
import type { ApiObject } from './api-client.ts';
import { createEcho, createGateway, createGrant, createNamespace, createRoute, createTlsSecret, toService } from './cluster-resources.ts'; // prettier-ignore
import type { Cluster } from './cluster.ts';
import { listGatewayPods, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { installController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { waitForCondition, waitUntilWell } from './resource-conditions.ts';
import type { ResourceName } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('fault-listener-certificate');
const web: ResourceName = { kind: 'Gateway', name: 'web' };
const certificate = createCertificate({ names: ['web.example.com'] });
const secret = createTlsSecret('web', 'kept-certificates', certificate);
const grant = createGrant(
  'web',
  'kept-certificates',
  { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace },
  'Secret',
);
let cluster: Cluster;
let address: string;
let pods: readonly PodObject[];

before(async () => {
  cluster = await joinCluster({ furtherNamespaces: ['kept-certificates'] });
  await installController(cluster);
  await cluster.apply([
    createNamespace('kept-certificates'),
    ...createEcho('echo'),
    secret,
    grant,
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'two', namespace },
      spec: { replicas: 2 },
    },
    createGateway('web', {
      listeners: [
        {
          name: 'https',
          port: 443,
          protocol: 'HTTPS',
          tls: { certificateRefs: [{ name: 'web', namespace: 'kept-certificates' }] },
        },
      ],
      infrastructure: { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'two' } },
    }),
    createRoute('echo', { to: toService('echo') }),
  ]);
  await waitUntilWell(cluster, [web, { kind: 'HTTPRoute', name: 'echo' }]);
  address = await waitUntilReachable(cluster, 'web', namespace, 443);
  pods = await cluster.waitFor(
    async () => {
      const found = await listGatewayPods(cluster, 'web');
      const isServing = await Promise.all(found.map(({ status }) => hasHandshake(status.podIP ?? '')));
      return found.length === 2 && !isServing.includes(false) ? found : undefined;
    },
    { what: 'both pods serve' },
  );
});
after(leaveCluster);

function hasHandshake(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 443, rejectUnauthorized: false, timeout: 5_000 }, () => {
      socket.destroy();
      resolve(true);
    });
    const fail = (): void => {
      socket.destroy();
      resolve(false);
    };
    socket.on('error', fail).on('timeout', fail);
  });
}

/** Clients over TLS that trust this one certificate and nothing else; every request has a new connection for some of them. */
function startLoad(t: TestContext) {
  const failures: string[] = [];
  let completed = 0;
  const state = { isRunning: true };
  const ask = (agent: Agent): Promise<void> =>
    new Promise((resolve) => {
      const call = request(
        {
          host: address,
          port: 443,
          path: '/',
          servername: 'web.example.com',
          ca: certificate.cert,
          agent,
          timeout: 30_000,
        },
        (response) => {
          response.resume().on('end', () => {
            if (response.statusCode === 200) completed += 1;
            else failures.push(String(response.statusCode));
            resolve();
          });
        },
      );
      call.on('timeout', () => call.destroy(new Error('no answer for 30 s')));
      call.on('error', (error) => {
        failures.push(`${new Date().toISOString()} ${error.message}`);
        resolve();
      });
      call.end();
    });
  const loops = [false, false, false, true].map(async (keepAlive) => {
    const agent = new Agent({ keepAlive });
    while (state.isRunning) {
      await ask(agent);
      await sleep(20);
    }
    agent.destroy();
  });
  const stop = async (): Promise<void> => {
    state.isRunning = false;
    await Promise.all(loops);
  };
  t.after(stop);
  return {
    failures,
    stop,
    get completed() {
      return completed;
    },
    waitForMore: (count: number) => {
      const until = completed + failures.length + count;
      return cluster.waitFor(() => Promise.resolve(completed + failures.length >= until), { what: 'more requests' });
    },
  };
}

async function expectUnharmed(t: TestContext, load: ReturnType<typeof startLoad>): Promise<void> {
  await load.waitForMore(30);
  await load.stop();
  t.diagnostic(`${load.completed} requests, ${load.failures.length} failed`);
  assert.deepEqual(load.failures, []);
}

const part = 'listener https';

test('the Secret is deleted for three seconds: nobody notices, and the status says what is served', async (t) => {
  const load = startLoad(t);
  await load.waitForMore(30);
  const deletedAt = performance.now();
  await cluster.delete(secret);
  const told = await waitForCondition(cluster, web, {
    part,
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'InvalidCertificateRef',
    message: /gateways keep serving the last good certificate, since .*, until it expires at /,
  });
  t.diagnostic(`told after ${Math.round(performance.now() - deletedAt)} ms: ${told.message}`);
  await waitForCondition(cluster, web, { part, type: 'Programmed', status: 'True' });
  await waitForCondition(cluster, web, { type: 'Programmed', status: 'True' });
  await cluster.waitFor(
    async () => {
      const events = await cluster.api.list<ApiObject & { reason?: string }>(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`); // prettier-ignore
      return events.some(({ reason }) => reason === 'CertificateKept');
    },
    { what: 'an Event says so' },
  );
  // As long as somebody who makes it anew would take.
  await sleep(Math.max(0, 3_000 - (performance.now() - deletedAt)));
  for (const { status } of pods) assert.equal(await hasHandshake(status.podIP ?? ''), true);
  await cluster.apply(secret);
  await waitUntilWell(cluster, [web]);
  await expectUnharmed(t, load);
});

test('the Secret is broken, and the controller is restarted meanwhile: gateways keep what they have', async (t) => {
  const load = startLoad(t);
  await cluster.apply(createTlsSecret('web', 'kept-certificates', { ...certificate, cert: 'nonsense' }));
  const message = /gateways keep serving the last good certificate/;
  await waitForCondition(cluster, web, { part, type: 'ResolvedRefs', status: 'False', message });
  await installController(cluster, { replicas: 0, waitsUntilReady: false });
  await installController(cluster);
  await load.waitForMore(30);
  await waitForCondition(cluster, web, { part, type: 'ResolvedRefs', status: 'False', message });
  for (const { status } of pods) assert.equal(await hasHandshake(status.podIP ?? ''), true);
  await cluster.apply(secret);
  await waitUntilWell(cluster, [web]);
  await expectUnharmed(t, load);
});

test('the Secret is deleted, and then the grant is revoked: every pod refuses handshakes, also when it is granted again', async () => {
  await cluster.delete(secret);
  await waitForCondition(cluster, web, {
    part,
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'InvalidCertificateRef',
  });
  const waitForAll = (works: boolean): Promise<boolean> =>
    cluster.waitFor(
      async () => {
        const answers = await Promise.all(pods.map(({ status }) => hasHandshake(status.podIP ?? '')));
        return answers.every((answer) => answer === works);
      },
      { what: `handshakes ${works ? 'work' : 'are refused'} at every pod` },
    );
  await waitForAll(true);
  await cluster.delete(grant);
  await waitForAll(false);
  await waitForCondition(cluster, web, { part, type: 'ResolvedRefs', status: 'False', reason: 'RefNotPermitted' });
  await cluster.apply(grant);
  await waitForCondition(cluster, web, {
    part,
    type: 'ResolvedRefs',
    status: 'False',
    reason: 'InvalidCertificateRef',
  });
  await waitForAll(false);
  await cluster.apply(secret);
  await waitForAll(true);
  await waitUntilWell(cluster, [web]);
});
