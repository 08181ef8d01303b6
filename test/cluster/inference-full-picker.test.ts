// The full endpoint picker of the Inference Extension, which takes bodies and sends them anew, before three fake model servers: through a gateway that the
// controller deployed, over TLS with the picker's own certificate. Two pools of the same pods have it: one closes without it, one stays open.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { after, before, test, type TestContext } from 'node:test';
import { type Arrival, hashBody, type TokenEvent } from '../inference/fake-model-server.ts';
import { readEvents } from '../inference/server-events.ts';
import {
  createGateway,
  createInferencePool,
  createRoute,
  createWorkload,
  toInferencePool,
} from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { waitForGatewayPod, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { buildFullPicker, createFullPicker, fullPickerPort } from './full-picker.ts';
import { createNodeImage } from './image-table.ts';
import { installController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { waitUntilWell } from './resource-conditions.ts';
import { locateResource, locateResources } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';
import { startSteadyLoad, type SteadyLoad } from './steady-load.ts';

const namespace = claimNamespace('inference');
const path = '/v1/chat/completions';
const modelPort = 8000;
const modelCount = 3;
/** Hosts by what becomes of their requests without the picker; the pools have the same names. */
const hosts = { closed: 'closed.example.com', open: 'open.example.com' } as const;
type Pool = keyof typeof hosts;

let cluster: Cluster;
let address: string;
const agent = new Agent({ keepAlive: true });

const createPool = (name: Pool, failureMode: string): object => {
  const picker = { name: 'picker', port: fullPickerPort };
  const pool = createInferencePool(name, { app: 'model', port: modelPort, picker }) as {
    spec: { endpointPickerRef: object };
  };
  return {
    ...pool,
    spec: { ...pool.spec, endpointPickerRef: { ...pool.spec.endpointPickerRef, failureMode } },
  };
};

const createModels = (): object[] => {
  const env = [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
  const [deployment] = createWorkload('model', { container: { image: 'fake-model', env }, port: modelPort });
  const { spec, ...rest } = deployment as { spec: object };
  return [{ ...rest, spec: { ...spec, replicas: modelCount } }];
};

before(async () => {
  const picker = await buildFullPicker();
  cluster = await joinCluster({
    images: { ...picker.images, 'fake-model': createNodeImage('test/cluster/serve-fake-model.ts') },
  });
  await picker.installCrds(cluster);
  await installController(cluster, { values: { inferenceExtension: { enabled: true } } });
  await cluster.apply([
    ...createModels(),
    // It looks at one pool; the other has the same pods.
    ...createFullPicker('picker', 'closed'),
    createPool('closed', 'FailClose'),
    createPool('open', 'FailOpen'),
    createGateway('web'),
    ...Object.entries(hosts).map(([name, host]) => createRoute(name, { hostnames: [host], to: toInferencePool(name) })),
  ]);
  address = await waitUntilReachable(cluster, 'web');
  await waitForModels();
  await waitForPicker();
  for (const pool of Object.keys(hosts) as Pool[]) await waitUntilServed(pool);
});
after(async () => {
  agent.destroy();
  await leaveCluster();
});

// ---- the cluster

const isReady = ({ metadata, status }: PodObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;

async function listPods(app: string): Promise<readonly PodObject[]> {
  const pods = await cluster.api.list<PodObject>(locateResources('Pod', namespace));
  return pods.filter(({ metadata }) => metadata.labels?.['app'] === app);
}

const waitForModels = (): Promise<readonly PodObject[]> =>
  cluster.waitFor(
    async () => {
      const ready = (await listPods('model')).filter(isReady);
      return ready.length === modelCount && ready;
    },
    { what: `${modelCount} model servers are ready` },
  );

const waitForPicker = (): Promise<PodObject> =>
  cluster.waitFor(async () => (await listPods('picker')).find(isReady), { what: 'the picker is ready' });

const waitUntilServed = (pool: Pool): Promise<unknown> =>
  cluster.waitFor(
    async () => {
      const { status } = await ask(pool, formatChat('are you there'));
      return status === 200;
    },
    { what: `pool ${pool} serves` },
  );

/** Kills the process of a pod, and waits until another runs in its place and is ready. */
async function kill({ metadata: { name }, status }: PodObject): Promise<void> {
  const restarts = status.containerStatuses?.[0]?.restartCount ?? 0;
  await cluster.signalContainer({ namespace, pod: name }, 'SIGKILL');
  await cluster.waitForObject<PodObject>(
    locateResource({ kind: 'Pod', name }),
    (pod) => {
      const [container] = pod.status.containerStatuses ?? [];
      return container !== undefined && container.restartCount > restarts && container.ready;
    },
    { what: `${name} runs again` },
  );
}

/** Tells a model server, or all, to hold tokens back or to let them go. */
async function tell(pods: readonly PodObject[], what: 'hold' | 'release' | 'go'): Promise<void> {
  await Promise.all(
    pods.map(async ({ status }) => {
      const answer = await fetch(`http://${status.podIP ?? ''}:${modelPort}/${what}`);
      await answer.text();
      assert.equal(answer.status, 200);
    }),
  );
}

// ---- the client

/** As the picker writes JSON: the names in order. */
const formatChat = (content: string, rest: object = {}): string =>
  JSON.stringify({ messages: [{ content, role: 'user' }], model: 'test', ...rest });

async function open(pool: Pool, body: string, method = 'POST'): Promise<IncomingMessage> {
  const own =
    method === 'POST' ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } : {};
  const headers = { host: hosts[pool], ...own };
  const message = request({ host: address, port: 80, agent, method, path, headers, timeout: 60_000 });
  message.on('timeout', () => message.destroy(new Error('no answer for 60 s')));
  message.end(body);
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  return response;
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  return text;
}

async function ask(pool: Pool, body: string): Promise<{ status: number; text: string }> {
  const response = await open(pool, body);
  return { status: response.statusCode!, text: await readText(response) };
}

async function expectArrival(pool: Pool, body: string, arrived = body): Promise<Arrival> {
  const { status, text } = await ask(pool, body);
  assert.equal(status, 200, text);
  const arrival = JSON.parse(text) as Arrival & { choices: unknown };
  assert.deepEqual(arrival.choices, [{ message: { role: 'assistant', content: 'hello' } }]);
  assert.deepEqual([arrival.body_bytes, arrival.body_sha256], [Buffer.byteLength(arrived), hashBody(arrived)]);
  return arrival;
}

const loadClients = 6;

function startLoad(t: TestContext, pool: Pool): SteadyLoad {
  const load = startSteadyLoad(`http://${address}${path}`, {
    clients: loadClients,
    headers: { host: hosts[pool] },
    body: formatChat('again and again'),
    nameAnswer: (text) => (JSON.parse(text) as Arrival).served_by,
  });
  t.after(() => load.stop());
  return load;
}

/** Waits until a pod answers requests of a load, from now on. */
async function waitUntilServing(load: SteadyLoad, { metadata: { name } }: PodObject): Promise<void> {
  const count = (): number => load.answeredBy.get(name) ?? 0;
  const served = count();
  await cluster.waitFor(() => count() > served, { what: `${name} serves` });
}

/** Waits until nothing fails any more: each process of the gateway finds its way back on its own. Returns what has failed. */
async function waitUntilCalm(load: SteadyLoad): Promise<readonly string[]> {
  const failures: string[] = [];
  await cluster.waitFor(
    async () => {
      const failed = load.takeFailures();
      failures.push(...failed);
      await load.waitForMore(10 * loadClients);
      return load.failures.length === 0;
    },
    { what: 'nothing fails any more' },
  );
  return failures;
}

/** Nothing has failed since, and nothing does. */
async function expectUnharmed(load: SteadyLoad): Promise<void> {
  await load.waitForMore(200);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.equal(load.resent, 0);
}

/** The status and the reason of each failure. */
function listReasons(failures: readonly string[]): readonly string[] {
  const reasons = failures.map((text) => /^\S+ (\d{3}) \{"error":"(\w+)"/.exec(text)?.slice(1).join(' ') ?? text);
  return [...new Set(reasons)].toSorted();
}

/** The sum of a metric, by its name and its labels as they are written. */
async function readMetric(pod: PodObject, port: number, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`http://${pod.status.podIP ?? ''}:${port}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const countPicks = async (pool: Pool, result: string): Promise<number> =>
  readMetric(
    await waitForGatewayPod(cluster, 'web'),
    15_020,
    'mcp_gateway_picks_total',
    `pool="InferencePool/${namespace}/${pool}",result="${result}"`,
  );

// ---- what holds

test('pools and routes are well', () =>
  waitUntilWell(
    cluster,
    Object.keys(hosts).flatMap((name) => [
      { kind: 'InferencePool', name },
      { kind: 'HTTPRoute', name },
    ]),
  ));

test('a chat completion is answered by the pod that the picker chose', async () => {
  const picked = await countPicks('closed', 'picked');
  const { served_by: name, headers } = await expectArrival('closed', formatChat('hello'));
  const pod = (await listPods('model')).find(({ metadata }) => metadata.name === name);
  const fields = headers.map((text) => text.toLowerCase());
  // As the picker set it, with the others that it repeats: none comes twice.
  assert.equal(fields[fields.indexOf('x-gateway-destination-endpoint') + 1], `${pod?.status.podIP ?? ''}:${modelPort}`);
  const names = fields.filter((_, index) => index % 2 === 0);
  assert.equal(new Set(names).size, names.length);
  assert.equal(await countPicks('closed', 'picked'), picked + 1);
});

test('what the picker makes of a body is what arrives, with its length', async () => {
  // Written otherwise than the picker writes it: in another order, and "<" as it is.
  const sent = JSON.stringify({ model: 'test', stream: false, messages: [{ role: 'user', content: 'a < b' }] });
  const arrived = formatChat('a < b', { stream: false }).replace('<', String.raw`\u003c`);
  assert.notEqual(sent.length, arrived.length);
  await expectArrival('closed', sent, arrived);
});

test('a prompt of a megabyte', async () => {
  await expectArrival('closed', formatChat('lorem ipsum '.repeat(2 ** 20 / 12)));
});

test('every token reaches the client before the next one is written', async (t) => {
  const count = 30;
  const { events, serving } = await openHeld(t, 'closed', count);
  for (let token = 0; token < count; token += 1) {
    await tell([serving], 'release');
    assert.equal((JSON.parse((await events.next()).value!) as TokenEvent).token, token);
  }
  assert.equal((await events.next()).value, '[DONE]');
  assert.equal((await events.next()).done, true);
});

/** A streamed answer of which nothing has come yet but who gives it; every token waits until it is released. */
async function openHeld(t: TestContext, pool: Pool, count: number) {
  const pods = await waitForModels();
  t.after(() => tell(pods, 'go'));
  await tell(pods, 'hold');
  const response = await open(pool, formatChat('count', { stream: true, max_tokens: count }));
  assert.equal(response.statusCode, 200);
  const events = readEvents(response);
  const { served_by: name } = JSON.parse((await events.next()).value!) as Arrival;
  const serving = pods.find(({ metadata }) => metadata.name === name);
  assert.ok(serving !== undefined, name);
  return { events, serving };
}

test('a body that is no JSON gets the answer of the picker', async () => {
  const answered = await countPicks('closed', 'immediate');
  const { status, text } = await ask('closed', '{"model": "test", ');
  assert.equal(status, 400);
  assert.match(text, /^inference error: BadRequest - /);
  assert.equal(await countPicks('closed', 'immediate'), answered + 1);
});

test('a request without a body is answered, too', async () => {
  const response = await open('closed', '', 'GET');
  assert.equal(response.statusCode, 200);
  assert.equal((JSON.parse(await readText(response)) as Arrival).method, 'GET');
});

test('a hundred at once are spread over the pods', async (t) => {
  const arrivals = await Promise.all(
    Array.from({ length: 100 }, (_, index) => expectArrival('closed', formatChat(`number ${index}`))),
  );
  const served = Map.groupBy(arrivals, ({ served_by: name }) => name);
  t.diagnostic([...served.values()].map((list) => list.length).join(', '));
  assert.equal(served.size, modelCount);
});

test('a picker that is killed: no request of the pool that stays open fails', async (t) => {
  const load = startLoad(t, 'open');
  await load.waitForMore(100);
  const fallbacks = await countPicks('open', 'unavailable');
  await kill(await waitForPicker());
  await expectUnharmed(load);
  const lost = (await countPicks('open', 'unavailable')) - fallbacks;
  t.diagnostic(`${load.completed} answers, ${lost} without the picker`);
  assert.ok(lost > 0);
});

test('a picker that is killed: the other pool answers 503 until it is back', async (t) => {
  await waitUntilServed('closed');
  const load = startLoad(t, 'closed');
  await load.waitForMore(100);
  assert.deepEqual(load.failures, []);
  await kill(await waitForPicker());
  // It is ready before it takes connections.
  await waitUntilServed('closed');
  const failures = await waitUntilCalm(load);
  t.diagnostic(`${failures.length} failures`);
  assert.deepEqual(listReasons(failures), ['503 picker_unavailable']);
  await expectUnharmed(load);
});

test('a picker that is killed: an answer that it has begun to send breaks off', async (t) => {
  const { events, serving } = await openHeld(t, 'open', 30);
  await tell([serving], 'release');
  assert.equal((JSON.parse((await events.next()).value!) as TokenEvent).token, 0);
  const broken = assert.rejects(events.next(), { code: 'ECONNRESET' });
  await kill(await waitForPicker());
  await broken;
  await waitUntilServed('closed');
});

test('a model server is deleted: no request of the pool that stays open fails', async (t) => {
  const load = startLoad(t, 'open');
  await load.waitForMore(100);
  const added = await replaceModel();
  await waitUntilServing(load, added);
  await expectUnharmed(load);
});

test('a model server is deleted: no request of the other pool fails either', async (t) => {
  const load = startLoad(t, 'closed');
  await load.waitForMore(100);
  const added = await replaceModel();
  await waitUntilServing(load, added);
  // The picker hears of a pod that has become ready before the gateway does, and prefers it: it is idle.
  assert.deepEqual(listReasons(load.takeFailures()), []);
  await expectUnharmed(load);
});

/** Deletes a model server and waits for the one that takes its place. */
async function replaceModel(): Promise<PodObject> {
  const present = await waitForModels();
  await cluster.api.delete(locateResource({ kind: 'Pod', name: present[0]!.metadata.name }));
  const known = new Set(present.map(({ metadata }) => metadata.uid));
  return cluster.waitFor(async () => (await waitForModels()).find(({ metadata }) => !known.has(metadata.uid)), {
    what: 'another model server is ready',
  });
}

/** By pool, beside requests that were on their way. */
const reasonsOfDeath: Readonly<Record<Pool, readonly string[]>> = {
  open: [],
  closed: ['502 upstream_unreachable', '503 picker_endpoint_refused'],
};

for (const [pool, reasons] of Object.entries(reasonsOfDeath) as [Pool, readonly string[]][]) {
  test(`a model server is killed: what fails of the pool that is ${pool} without a choice`, async (t) => {
    const load = startLoad(t, pool);
    await load.waitForMore(100);
    const [victim] = await waitForModels();
    await kill(victim!);
    await waitUntilServing(load, victim!);
    const failures = load.takeFailures();
    t.diagnostic(`${failures.length} failures: ${listReasons(failures).join(', ')}`);
    const cut = failures.filter((text) => listReasons([text])[0] === '502 upstream_reset');
    assert.ok(cut.length <= loadClients, `${cut.length} requests were cut, of at most ${loadClients} on their way`);
    const others = failures.filter((text) => !cut.includes(text));
    assert.deepEqual(
      listReasons(others).filter((reason) => !reasons.includes(reason)),
      [],
    );
    await expectUnharmed(load);
  });
}

test('in the end the picker knows of no request any more', async () => {
  const picker = await waitForPicker();
  await expectArrival('closed', formatChat('the last'));
  await cluster.waitFor(async () => (await readMetric(picker, 9090, 'inference_objective_running_requests')) === 0, {
    what: 'no request is running',
  });
  assert.ok((await readMetric(picker, 9090, 'inference_objective_request_total')) > 0);
});
