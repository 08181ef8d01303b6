// The Kubernetes source and the kinds of the Inference Extension: not asked for at all without it, and with it no more told than changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../src/base/log.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { make, makeInference, quickTiming, startSource, untilEqual, untilSynced } from './kubernetes-source-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const extensions = ['inference'] as const;

for (const [what, namespaceSelectors] of [
  ['all namespaces', []],
  ['selected namespaces', [{ matchLabels: { served: 'yes' } }]],
] as const)
  test(`without the extension nobody asks for InferencePools and Pods, ${what}`, async (context) => {
    const cluster = await startFakeApiServer(context);
    cluster.put(make.namespace('default', { served: 'yes' }));
    cluster.put(makeInference.pool('model'));
    cluster.put(makeInference.pod('model-0'));
    cluster.put(make.route('a'));
    const source = startSource(context, cluster, { namespaceSelectors });
    await untilEqual(source, cluster, namespaceSelectors);
    // Also after everything was listed again, and after a kind was found.
    cluster.uninstall('ReferenceGrant');
    cluster.expireHistory('event');
    cluster.watches.drop();
    cluster.install(resourceTypes.InferencePool);
    cluster.put(make.route('b'));
    await untilEqual(source, cluster, namespaceSelectors);
    const { inferencePools, pods, httpRoutes } = source.resources.get();
    assert.deepEqual([inferencePools, pods, httpRoutes.length], [[], [], 2]);
    assert.deepEqual(
      cluster.requests.filter(({ path }) => /inference|pods/.test(path)).map(({ path }) => path),
      [],
    );
    const { counts, reasons } = source.sync.get();
    assert.equal('InferencePool' in counts || 'Pod' in counts, false);
    assert.deepEqual(reasons, []);
    assert.equal(source.findStatus('InferencePool', 'default', 'model'), undefined);
    assert.equal(source.findStatus('Pod', 'default', 'model-0'), undefined);
  });

test('without the extension its CRD is not missed', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['InferencePool'] });
  const source = startSource(context, cluster);
  await untilEqual(source, cluster);
  assert.deepEqual(source.sync.get().reasons, []);
});

test('with the extension pools are read, and the Pods that run', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(makeInference.pool('model'));
  cluster.put(makeInference.pool('other', 'z'));
  cluster.put(makeInference.pod('model-0'));
  cluster.put({ ...makeInference.pod('model-1', 'default', 'False') });
  cluster.put({ ...makeInference.pod('finished'), status: { phase: 'Succeeded', podIP: '10.0.0.9' } });
  cluster.put({ ...makeInference.pod('waiting'), status: { phase: 'Pending' } });
  const source = startSource(context, cluster, { extensions });
  await untilEqual(source, cluster, [], extensions);
  const names = (): readonly string[] => source.resources.get().pods.map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ['model-0', 'model-1']);
  assert.equal(source.resources.get().inferencePools.length, 2);
  const { counts, reasons } = source.sync.get();
  assert.deepEqual([counts['InferencePool'], counts['Pod'], reasons], [2, 2, []]);
  assert.ok(source.findStatus('InferencePool', 'z', 'other'), 'its status can be written');
  // The server leaves the others out, and so does the watch.
  cluster.put(makeInference.pod('waiting'));
  cluster.change('Pod', 'default/model-0', (pod) => (pod['status'].phase = 'Failed'));
  await untilEqual(source, cluster, [], extensions);
  assert.deepEqual(names(), ['model-1', 'waiting']);
  for (const { kind, verb, query } of cluster.requests)
    if (kind === 'Pod' && (verb === 'list' || verb === 'watch'))
      assert.equal(query.get('fieldSelector'), 'status.phase=Running', verb);
});

test('of namespaces that are not selected, no Pod and no pool is asked for', async (context) => {
  const cluster = await startFakeApiServer(context);
  const selectors = [{ matchLabels: { served: 'yes' } }];
  cluster.put(make.namespace('default', { served: 'yes' }));
  cluster.put(make.namespace('elsewhere'));
  for (const namespace of ['default', 'elsewhere']) {
    cluster.put(makeInference.pool('model', namespace));
    cluster.put(makeInference.pod('model-0', namespace));
  }
  const source = startSource(context, cluster, { extensions, namespaceSelectors: selectors });
  await untilEqual(source, cluster, selectors, extensions);
  assert.deepEqual(
    source.resources.get().pods.map(({ metadata }) => metadata.namespace),
    ['default'],
  );
  const asked = cluster.requests.filter(({ kind }) => kind === 'Pod' || kind === 'InferencePool');
  assert.deepEqual([...new Set(asked.map(({ namespace }) => namespace))], ['default']);
});

test('a Pod that becomes ready, is not any more, or is on its way out is told', async (context) => {
  const cluster = await startFakeApiServer(context);
  cluster.put(makeInference.pod('model-0', 'default', 'False'));
  const source = startSource(context, cluster, { extensions });
  await untilEqual(source, cluster, [], extensions);
  const told: string[] = [];
  source.resources.subscribe(({ pods: [pod] }) => {
    const { deletionTimestamp } = pod?.metadata ?? {};
    told.push(pod === undefined ? 'gone' : `${pod.status.conditions?.[0]?.status} ${deletionTimestamp !== undefined}`);
  });
  const steps = ['True', 'False', 'True'] as const;
  for (const [index, ready] of steps.entries()) {
    cluster.put(makeInference.pod('model-0', 'default', ready));
    await waitFor(() => told.length === index + 1);
  }
  // Its containers are given time to end.
  cluster.change('Pod', 'default/model-0', (pod) => (pod.metadata['finalizers'] = ['example.com/grace']));
  cluster.delete('Pod', 'default/model-0');
  await waitFor(() => told.length === 4);
  cluster.change('Pod', 'default/model-0', (pod) => (pod.metadata['finalizers'] = []));
  await waitFor(() => told.length === 5);
  assert.deepEqual(told, ['True false', 'False false', 'True false', 'True true', 'gone']);
});

test('what a node writes into a Pod again and again wakes nobody', async (context) => {
  const cluster = await startFakeApiServer(context);
  const clock = createManualClock();
  cluster.put(makeInference.pod('model-0'));
  const source = startSource(context, cluster, { extensions, clock, timing: { ...quickTiming, settleMs: 17 } });
  await waitFor(() => cluster.watches.count('Pod') === 1);
  await untilSynced(source, clock);
  const isWoken = (): boolean => clock.pendingDelays().some((delay) => delay <= 17);
  await waitFor(() => !isWoken());
  const before = source.resources.get();
  for (let beat = 0; beat < 3; beat += 1) {
    const written = cluster.change('Pod', 'default/model-0', (pod) => {
      pod['status'].conditions[1].lastProbeTime = `2026-01-01T00:0${beat}:00Z`;
      pod.metadata['annotations'] = { beat: String(beat) };
    });
    await waitFor(
      () => source.findStatus('Pod', 'default', 'model-0')?.resourceVersion === written.metadata.resourceVersion,
    );
    assert.equal(isWoken(), false, `beat ${beat}`);
  }
  assert.equal(source.resources.get(), before);
  cluster.put(makeInference.pod('model-0', 'default', 'False'));
  await waitFor(isWoken);
});

test('without the CRD of InferencePools everything else is read, and what to install is told', async (context) => {
  const cluster = await startFakeApiServer(context, { without: ['InferencePool'] });
  cluster.put(make.route('a'));
  cluster.put(makeInference.pod('model-0'));
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
  const source = startSource(context, cluster, { extensions, log });
  await untilEqual(source, cluster, [], extensions);
  assert.equal(source.sync.get().isHeld, false);
  await waitFor(() => source.sync.get().reasons.length === 1);
  assert.match(
    source.sync.get().reasons[0]!,
    /^not installed: InferencePool; install the CRDs of the Inference Extension/,
  );
  cluster.put(make.route('b'));
  await untilEqual(source, cluster, [], extensions);

  cluster.install(resourceTypes.InferencePool);
  cluster.put(makeInference.pool('model'));
  await untilEqual(source, cluster, [], extensions);
  await waitFor(() => source.sync.get().reasons.length === 0);
  assert.equal(source.resources.get().inferencePools.length, 1);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg),
    ['kinds are not installed; polling until they are', 'all kinds are installed'],
  );
  assert.match(lines[0]!, /not installed: InferencePool; install the CRDs of the Inference Extension/);
});
