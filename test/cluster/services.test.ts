// Services of the test cluster: names, addresses, load balancers, and who is seen as the source.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { observe, observedImages, startObservedPod } from './observed-pod.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('services');
let cluster: Cluster;
let first: string;
let second: string;

interface ServiceObject extends ApiObject {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] };
  readonly status: { readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string }[] } };
}

const createService = (name: string, selector: object, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { selector, ports: [{ port: 80, targetPort: 8080 }], ...spec },
});
const locateService = (name: string): string => `/api/v1/namespaces/${namespace}/services/${name}`;

/** What a pod gets from a URL. */
const fetchFrom = (address: string, url: string, timeout = 30_000): Promise<{ status: number; body: string }> =>
  observe(address, `/fetch?timeout=${timeout}&url=${encodeURIComponent(url)}`);

/** Waits until a URL answers from inside a pod: rules follow the API with a small delay. */
const waitUntilServed = (address: string, url: string): Promise<{ status: number; body: string }> =>
  cluster.waitFor(() => fetchFrom(address, url), { what: `${url} answers` });

before(async () => {
  cluster = await joinCluster({ images: observedImages });
  first = await startObservedPod(cluster, 'first', { metadata: { labels: { app: 'pair' } } });
  second = await startObservedPod(cluster, 'second', { metadata: { labels: { app: 'pair' } } });
});
after(leaveCluster);

test("a Service is reached by each of its names, on a port that is not the pod's, and sees the true source", async () => {
  await cluster.apply(createService('pair', { app: 'pair' }));
  await waitUntilServed(first, 'http://pair/ready');
  for (const name of ['pair', 'pair.services', 'pair.services.svc', 'pair.services.svc.cluster.local']) {
    const { status, body } = await fetchFrom(first, `http://${name}/peer`);
    assert.equal(status, 200, name);
    // A pod that reaches itself is seen as the node.
    assert.ok([`"::ffff:${first}"`, `"::ffff:${cluster.addresses.node}"`].includes(body), `${name}: ${body}`);
  }
  const { spec } = await cluster.api.get<ServiceObject>(locateService('pair'));
  assert.deepEqual(await observe(first, '/lookup?name=pair'), [spec.clusterIP]);
  // By DNS alone, which has no hosts file.
  assert.deepEqual(await observe(first, '/resolve?name=pair.services.svc.cluster.local'), [spec.clusterIP]);
  await assert.rejects(observe(first, '/lookup?name=nowhere.services.svc'), /ENOTFOUND/);
});

test('connections go to all ready pods in turn, and to no other', async () => {
  const hostnames = async (): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (let count = 0; count < 6; count += 1) {
      const { body } = await fetchFrom(second, 'http://pair/self');
      found.add((JSON.parse(body) as { hostname: string }).hostname);
    }
    return found;
  };
  const waitForNames = (names: readonly string[]): Promise<boolean> =>
    cluster.waitFor(async () => [...(await hostnames())].toSorted().join() === names.join(), {
      what: `only ${names.join()} answer`,
    });
  await waitForNames(['first', 'second']);
  await observe(first, '/set?ready=false');
  await waitForNames(['second']);
  await observe(first, '/set?ready=true');
  await waitForNames(['first', 'second']);
});

test('a headless Service resolves to its pods', async () => {
  await cluster.apply(createService('headless', { app: 'pair' }, { clusterIP: 'None' }));
  await cluster.waitFor(async () => (await observe<string[]>(first, '/lookup?name=headless')).length === 2, {
    what: 'both pods are found',
  });
  const addresses = new Set([first, second]);
  assert.deepEqual(new Set(await observe<string[]>(first, '/lookup?name=headless')), addresses);
  assert.deepEqual(
    new Set(await observe<string[]>(first, '/resolve?name=headless.services.svc.cluster.local')),
    addresses,
  );
});

test('a Service without pods refuses at once', async () => {
  await cluster.apply(createService('empty', { app: 'nobody' }));
  await cluster.waitFor(async () => (await observe<string[]>(first, '/lookup?name=empty')).length === 1, {
    what: 'the name is known',
  });
  await assert.rejects(fetchFrom(first, 'http://empty/'), /ECONNREFUSED/);
});

test('a LoadBalancer gets an address, the wished one if it is free, and gives it back', async () => {
  const range = cluster.addresses.loadBalancerRange.replace(/\.0\/24$/, '');
  const wish = `${range}.77`;
  const balanced = (name: string, spec: object = {}): object =>
    createService(name, { app: 'pair' }, { type: 'LoadBalancer', ...spec });
  const waitForAddress = async (name: string): Promise<string> => {
    const { status } = await cluster.waitForObject<ServiceObject>(
      locateService(name),
      (service) => (service.status.loadBalancer.ingress?.length ?? 0) > 0,
    );
    return status.loadBalancer.ingress?.[0]?.ip ?? '';
  };
  await cluster.apply([balanced('any'), balanced('wished', { loadBalancerIP: wish })]);
  const any = await waitForAddress('any');
  assert.ok(any.startsWith(`${range}.`), any);
  assert.equal(await waitForAddress('wished'), wish);
  for (const address of [any, wish]) {
    await cluster.waitFor(() => observe(address, '/ready', 80), { what: `${address} answers the test process` });
    assert.equal(await observe(address, '/peer', 80), `::ffff:${cluster.addresses.host}`);
    assert.equal((await fetchFrom(first, `http://${address}/ready`)).status, 200);
  }
  // Taken or out of range: no address, and nobody else's.
  await cluster.apply([
    balanced('taken', { loadBalancerIP: wish }),
    balanced('outside', { loadBalancerIP: '192.0.2.1' }),
    balanced('last'),
  ]);
  // Addresses are given in the order of the Services: who is after them has one, so they were looked at.
  assert.notEqual(await waitForAddress('last'), wish);
  for (const name of ['taken', 'outside']) {
    const { status } = await cluster.api.get<ServiceObject>(locateService(name));
    assert.deepEqual(status.loadBalancer, {}, name);
  }
  await cluster.delete(balanced('wished'));
  assert.equal(await waitForAddress('taken'), wish);
  await assert.rejects(observe(`${range}.99`, '/ready', 80), /fetch failed/);
});

test('the echo server of the Gateway API answers through its load balancer', async () => {
  await cluster.apply([
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'echo', namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'echo' } },
        template: {
          metadata: { labels: { app: 'echo' } },
          spec: {
            containers: [
              {
                name: 'echo',
                image: 'gcr.io/k8s-staging-gateway-api/echo-basic:v20260101',
                env: [
                  { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
                  { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
                ],
              },
            ],
          },
        },
      },
    },
    createService('echo', { app: 'echo' }, { type: 'LoadBalancer', ports: [{ port: 8080, targetPort: 3000 }] }),
  ]);
  const { status } = await cluster.waitForObject<ServiceObject>(
    locateService('echo'),
    (service) => (service.status.loadBalancer.ingress?.length ?? 0) > 0,
  );
  const address = status.loadBalancer.ingress?.[0]?.ip ?? '';
  const pods = new Set<string>();
  await cluster.waitFor(
    async () => {
      const echo = await observe<{ path: string; namespace: string; pod: string }>(address, '/a/b?c=d');
      assert.equal(echo.path, '/a/b?c=d');
      assert.equal(echo.namespace, namespace);
      return pods.add(echo.pod).size === 2;
    },
    { what: 'both pods have answered' },
  );
});

test('a node port leads to the pods', async () => {
  await cluster.apply(createService('by-node', { app: 'pair' }, { type: 'NodePort' }));
  const { spec } = await cluster.api.get<ServiceObject>(locateService('by-node'));
  await cluster.waitFor(() => observe(cluster.addresses.node, '/ready', spec.ports[0]?.nodePort), {
    what: 'the port answers',
  });
});

test('pods reach a server of the test process, by a name that the test gives it, and nothing outside', async () => {
  const server = createServer((_, response) => response.end('from the test'));
  server.listen(0, cluster.addresses.host);
  await once(server, 'listening');
  try {
    const { port } = server.address() as { port: number };
    await cluster.setName('idp.example.com', cluster.addresses.host);
    const { body } = await waitUntilServed(first, `http://idp.example.com:${port}/`);
    assert.equal(body, 'from the test');
    await cluster.setName('idp.example.com');
    await cluster.waitFor(
      () =>
        observe(first, '/lookup?name=idp.example.com').then(
          () => false,
          () => true,
        ),
      {
        what: 'the name is gone',
      },
    );
    await assert.rejects(fetchFrom(first, 'http://192.0.2.1/'), /fetch failed|ENETUNREACH|EHOSTUNREACH/);
  } finally {
    server.close();
  }
});

test('a black hole loses packets of open connections too, one way or both, until it is closed', async () => {
  const heal = await cluster.blackHole({ from: first, to: second, port: 8080 });
  await assert.rejects(fetchFrom(first, `http://${second}:8080/ready`, 2000), /Timeout|aborted/i);
  // Others are not concerned, nor is the way back.
  assert.equal((await fetchFrom(second, `http://${first}:8080/ready`)).status, 200);
  assert.equal(await observe(second, '/ready'), 'ready');
  await heal();
  assert.equal((await fetchFrom(first, `http://${second}:8080/ready`)).status, 200);

  // The answer to a request that has arrived is lost as well.
  const held = fetchFrom(first, `http://${second}:8080/hold`, 5000);
  await cluster.waitFor(async () => (await observe<number>(second, '/held')) === 1, {
    what: 'the request has arrived',
  });
  const healAgain = await cluster.blackHole({ from: first, to: second });
  await observe(second, '/release');
  await assert.rejects(held, /Timeout|aborted/i);
  await healAgain();
});
