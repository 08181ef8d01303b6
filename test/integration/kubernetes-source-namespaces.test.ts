// discoveryNamespaceSelectors: which namespaces count, live, and how they are watched.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KubernetesSource, NamespaceSelector } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { listWatchedKinds } from '../../src/sources/kubernetes/watched-kinds.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';
import { installationNamespace, make, quickTiming, startSource, untilEqual } from './kubernetes-source-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const namespacedKinds = listWatchedKinds([]).filter(({ type }) => type.namespaced).length;
const byTeam: readonly NamespaceSelector[] = [{ matchLabels: { team: 'x' } }];

function label(cluster: FakeApiServer, namespace: string, labels: Record<string, string>): void {
  cluster.put(make.namespace(namespace, labels));
}

function listNames(source: KubernetesSource): string[] {
  return source.resources.get().httpRoutes.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

async function startWith(
  context: TestContext,
  namespaces: Record<string, Record<string, string>>,
  selectors: readonly NamespaceSelector[] = byTeam,
  timing: object = {},
): Promise<{ cluster: FakeApiServer; source: KubernetesSource }> {
  const cluster = await startFakeApiServer(context);
  for (const [name, labels] of Object.entries(namespaces)) {
    label(cluster, name, labels);
    cluster.put(make.route('r', name));
    cluster.put(make.policy('r', name));
    cluster.put(make.secret('s', name));
  }
  const source = startSource(context, cluster, {
    namespaceSelectors: selectors,
    timing: { ...quickTiming, ...timing },
  });
  await untilEqual(source, cluster, selectors);
  return { cluster, source };
}

const labelled = {
  nothing: {},
  'prod-x': { env: 'prod', team: 'x' },
  'prod-y': { env: 'prod', team: 'y' },
  'dev-x': { env: 'dev', team: 'x' },
  empty: { env: '' },
};

for (const [what, selectors, expected] of [
  ['an empty selector selects everything', [{}], ['dev-x', 'empty', 'nothing', 'prod-x', 'prod-y']],
  ['matchLabels must all hold', [{ matchLabels: { env: 'prod', team: 'x' } }], ['prod-x']],
  [
    'any of several selectors will do',
    [{ matchLabels: { env: 'dev' } }, { matchLabels: { team: 'y' } }],
    ['dev-x', 'prod-y'],
  ],
  [
    'In needs the label with one of the values',
    [{ matchExpressions: [{ key: 'env', operator: 'In', values: ['prod', 'stage'] }] }],
    ['prod-x', 'prod-y'],
  ],
  [
    'NotIn also holds without the label',
    [{ matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['prod'] }] }],
    ['dev-x', 'empty', 'nothing'],
  ],
  [
    'Exists holds for an empty value',
    [{ matchExpressions: [{ key: 'env', operator: 'Exists' }] }],
    ['dev-x', 'empty', 'prod-x', 'prod-y'],
  ],
  [
    'DoesNotExist holds without the label only',
    [{ matchExpressions: [{ key: 'env', operator: 'DoesNotExist' }] }],
    ['nothing'],
  ],
  [
    'labels and expressions must all hold',
    [{ matchLabels: { team: 'x' }, matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['dev'] }] }],
    ['prod-x'],
  ],
  ['nothing may be selected', [{ matchLabels: { env: 'none' } }], []],
] as const satisfies readonly (readonly [string, readonly NamespaceSelector[], readonly string[]])[])
  test(`selectors: ${what}`, async (context) => {
    const { source } = await startWith(context, labelled, selectors);
    assert.deepEqual([...source.namespaces.get()!].toSorted(), expected);
    assert.deepEqual(
      listNames(source),
      expected.map((namespace) => `${namespace}/r`),
    );
    assert.deepEqual(
      source.resources.get().namespaces.map(({ metadata }) => metadata.name),
      expected,
    );
  });

test('a few namespaces are watched one by one, and nothing of the others is asked for', async (context) => {
  const { cluster, source } = await startWith(context, { a: { team: 'x' }, b: { team: 'x' }, c: {} });
  assert.deepEqual(listNames(source), ['a/r', 'b/r']);
  const places = new Set(
    cluster.requests.filter(({ kind }) => kind === 'HTTPRoute').map(({ namespace }) => String(namespace)),
  );
  assert.deepEqual([...places].toSorted(), ['a', 'b']);
  await waitFor(() => cluster.watches.count('HTTPRoute') === 2);
});

test('many namespaces are watched together', async (context) => {
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`n${index}`, { team: 'x' }]));
  const { cluster, source } = await startWith(context, { ...many, other: {} });
  assert.equal(listNames(source).length, 17);
  assert.deepEqual(
    cluster.requests
      .filter(({ kind, verb }) => kind === 'HTTPRoute' && verb === 'list')
      .map(({ namespace }) => namespace),
    [undefined],
  );
});

for (const maxSeparateNamespaces of [16, 0])
  test(`labels count at once, whether namespaces are watched ${maxSeparateNamespaces === 0 ? 'together' : 'one by one'}`, async (context) => {
    const { cluster, source } = await startWith(context, { a: { team: 'x' }, b: {}, c: {} }, byTeam, {
      maxSeparateNamespaces,
    });
    const kept = source.resources.get().httpRoutes[0];
    label(cluster, 'b', { team: 'x' });
    await untilEqual(source, cluster, byTeam);
    assert.deepEqual(listNames(source), ['a/r', 'b/r']);
    assert.deepEqual([...source.namespaces.get()!].toSorted(), ['a', 'b']);
    assert.equal(source.resources.get().httpRoutes[0], kept);

    cluster.put(make.route('r2', 'b'));
    cluster.put(make.route('r2', 'c'));
    await untilEqual(source, cluster, byTeam);
    label(cluster, 'b', {});
    await untilEqual(source, cluster, byTeam);
    assert.deepEqual(listNames(source), ['a/r']);
    assert.equal(source.findStatus('HTTPRoute', 'b', 'r'), undefined);

    // Out and in again, with changes between.
    cluster.delete('HTTPRoute', 'b/r2');
    cluster.put(make.route('r3', 'b'));
    label(cluster, 'b', { team: 'x' });
    await untilEqual(source, cluster, byTeam);
    assert.deepEqual(listNames(source), ['a/r', 'b/r', 'b/r3']);

    cluster.deleteNamespace('a');
    await untilEqual(source, cluster, byTeam);
    await waitFor(() => cluster.watches.count('HTTPRoute') <= (maxSeparateNamespaces === 0 ? 2 : 1));
  });

test('a namespace is shown as a whole or not at all', async (context) => {
  const { cluster, source } = await startWith(context, { a: { team: 'x' }, b: {} });
  const seen: string[] = [];
  source.resources.subscribe(({ httpRoutes, proxyPolicies }) =>
    seen.push(`${httpRoutes.length} ${proxyPolicies.length}`),
  );
  const hold = Promise.withResolvers<void>();
  cluster.inject({ verb: 'list', kind: 'ProxyPolicy', fault: { type: 'wait', until: hold.promise } });
  label(cluster, 'b', { team: 'x' });
  await waitFor(() => source.sync.get().reasons.includes('not complete yet: namespace b'));
  assert.equal(source.sync.get().synced, true, 'the others go on');
  cluster.put(make.route('r2', 'a'));
  cluster.put(make.policy('r2', 'a'));
  await waitFor(() => source.resources.get().proxyPolicies.length === 2);
  hold.resolve();
  await untilEqual(source, cluster, byTeam);
  assert.ok(
    seen.every((counts) => ['1 1', '2 1', '2 2', '1 2', '3 3'].includes(counts)),
    seen.join(),
  );
  assert.equal(seen.at(-1), '3 3');
});

test('from one by one to together and on: nothing is lost, changed or shown twice on the way', async (context) => {
  const { cluster, source } = await startWith(context, { n0: { team: 'x' } }, byTeam, { maxSeparateNamespaces: 2 });
  const first = source.resources.get().httpRoutes[0];
  const gone: string[] = [];
  source.resources.subscribe(({ httpRoutes }, previous) => {
    for (const route of previous.httpRoutes) if (!httpRoutes.includes(route)) gone.push(route.metadata.namespace);
  });
  for (let index = 1; index < 12; index += 1) {
    label(cluster, `n${index}`, { team: 'x' });
    cluster.put(make.route('r', `n${index}`));
    cluster.put(make.policy('r', `n${index}`));
    await untilEqual(source, cluster, byTeam);
  }
  assert.deepEqual(gone, []);
  assert.equal(source.resources.get().httpRoutes[0], first);
  // Together, and at most two that came after that.
  await waitFor(() => cluster.watches.count('HTTPRoute') <= 3);
  assert.ok(cluster.watches.count() <= 3 * namespacedKinds + 5);
});

test('many namespaces at once, while they are being taken in', async (context) => {
  const { cluster, source } = await startWith(context, { a: { team: 'x' } }, byTeam, { maxSeparateNamespaces: 3 });
  const hold = Promise.withResolvers<void>();
  cluster.inject({
    verb: 'list',
    kind: 'Secret',
    times: Infinity,
    when: ({ namespace }) => namespace === undefined,
    fault: { type: 'wait', until: hold.promise },
  });
  for (let index = 0; index < 30; index += 1) {
    label(cluster, `n${index}`, { team: 'x' });
    cluster.put(make.route('r', `n${index}`));
    if (index % 7 === 6) await waitFor(() => source.namespaces.get()!.size === index + 2);
  }
  label(cluster, 'n3', {});
  label(cluster, 'a', {});
  cluster.deleteNamespace('n4');
  await waitFor(() => source.namespaces.get()!.size === 28);
  hold.resolve();
  await untilEqual(source, cluster, byTeam);
  await waitFor(() => source.sync.get().reasons.length === 0);
});

test('of the installation namespace Secrets, ConfigMaps and GatewayParameters are always there, and nothing else', async (context) => {
  const { cluster, source } = await startWith(context, { a: { team: 'x' } });
  for (const object of [
    make.namespace(installationNamespace),
    make.secret('seal', installationNamespace),
    make.configMap('ca', installationNamespace),
    make.parameters('class', installationNamespace),
    make.route('r', installationNamespace),
    make.gateway('g', installationNamespace),
  ])
    cluster.put(object);
  await untilEqual(source, cluster, byTeam);
  const shown = (): object => {
    const { secrets, configMaps, gatewayParameters, httpRoutes, gateways, namespaces } = source.resources.get();
    return Object.fromEntries(
      Object.entries({ secrets, configMaps, gatewayParameters, httpRoutes, gateways, namespaces }).map(
        ([name, list]) => [
          name,
          list.filter(({ metadata }) => [metadata.namespace, metadata.name].includes(installationNamespace)).length,
        ],
      ),
    );
  };
  const always = { secrets: 1, configMaps: 1, gatewayParameters: 1 };
  assert.deepEqual(shown(), { ...always, httpRoutes: 0, gateways: 0, namespaces: 0 });
  const secret = source.resources.get().secrets.find(({ metadata }) => metadata.name === 'seal');
  assert.ok(source.findStatus('Secret', installationNamespace, 'seal'));

  // Selected, it is like any other; and not any more, it is as before.
  label(cluster, installationNamespace, { team: 'x' });
  await untilEqual(source, cluster, byTeam);
  assert.deepEqual(shown(), { ...always, httpRoutes: 1, gateways: 1, namespaces: 1 });
  cluster.put(make.configMap('ca2', installationNamespace));
  cluster.delete('ConfigMap', `${installationNamespace}/ca`);
  await untilEqual(source, cluster, byTeam);
  label(cluster, installationNamespace, {});
  await untilEqual(source, cluster, byTeam);
  assert.deepEqual(shown(), { ...always, httpRoutes: 0, gateways: 0, namespaces: 0 });
  assert.equal(
    source.resources.get().secrets.find(({ metadata }) => metadata.name === 'seal'),
    secret,
  );
});

test('stop leaves nothing open', async (context) => {
  const { cluster, source } = await startWith(context, { a: { team: 'x' }, b: { team: 'x' } });
  label(cluster, 'b', {});
  await source.stop();
  await waitFor(() => cluster.watches.count() === 0);
});
