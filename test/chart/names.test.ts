// What things are called, by release, overrides and namespace; and who selects whom.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { labelDeployed } from '../../src/deploy/deployed-names.ts';
import type { Gateway } from '../../src/api/gateway.ts';
import { readSettings } from './controller-settings.ts';
import { renderChart, type Values } from './helm.ts';
import type { Rendering } from './rendering.ts';

interface Naming {
  readonly release: string;
  readonly values: Values;
  readonly name: string;
}

const namings: readonly Naming[] = [
  { release: 'proxy', values: {}, name: 'proxy' },
  { release: 'proxy', values: { nameOverride: 'foo' }, name: 'proxy-foo' },
  // The override is a part of the release's name, or the release's name a part of it.
  { release: 'proxy', values: { nameOverride: 'pro' }, name: 'proxy-pro' },
  { release: 'proxy', values: { nameOverride: 'proxy' }, name: 'proxy-proxy' },
  { release: 'proxy', values: { nameOverride: 'proxy-foo' }, name: 'proxy-proxy-foo' },
  { release: 'edge', values: {}, name: 'edge-proxy' },
  { release: 'edge', values: { nameOverride: 'foo' }, name: 'edge-foo' },
  { release: 'edge', values: { nameOverride: 'edge' }, name: 'edge-edge' },
  { release: 'my-proxy', values: {}, name: 'my-proxy-proxy' },
  { release: 'proxy2', values: {}, name: 'proxy2-proxy' },
  { release: 'proxy', values: { fullnameOverride: 'foo' }, name: 'foo' },
  { release: 'edge', values: { fullnameOverride: 'foo' }, name: 'foo' },
  { release: 'edge', values: { fullnameOverride: 'foo', nameOverride: 'bar' }, name: 'foo' },
  { release: 'r'.repeat(53), values: {}, name: `${'r'.repeat(53)}-proxy` },
  { release: 'proxy', values: { fullnameOverride: 'f'.repeat(63) }, name: 'f'.repeat(63) },
];

for (const { release, values, name } of namings) {
  test(`${release} ${JSON.stringify(values)}: ${name}`, async () => {
    const rendering = await renderChart(values, { release });
    for (const kind of ['Deployment', 'Service', 'ServiceAccount', 'Role', 'RoleBinding'])
      assert.equal(rendering.get(kind).metadata.name, name);
    assert.equal(rendering.pod.serviceAccountName, name);
    assert.equal(readSettings(rendering).serviceName, name);
  });
}

function listClusterNames(rendering: Rendering): readonly string[] {
  return rendering.objects
    .filter(({ metadata }) => metadata.namespace === undefined)
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

describe('two releases', () => {
  test('of one name in two namespaces share no object of the cluster', async () => {
    const [usual, other] = await Promise.all(
      ['proxy-system', 'team-a'].map((namespace) => renderChart({}, { namespace })),
    );
    const names = [...listClusterNames(usual!), ...listClusterNames(other!)];
    assert.equal(names.length, 8);
    assert.equal(new Set(names).size, 8, names.join(', '));
    assert.ok(names.includes('ClusterRole proxy-reader.team-a'));
    for (const object of other!.objects)
      if (object.metadata.namespace !== undefined) assert.equal(object.metadata.namespace, 'team-a');
  });

  test('in one namespace share none at all, and select their own pods only', async () => {
    const [first, second] = await Promise.all(['proxy', 'edge'].map((release) => renderChart({}, { release })));
    const names = [first!, second!].flatMap(({ objects }) =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    );
    assert.equal(new Set(names).size, names.length);
    assert.notDeepEqual(first!.deployment.spec.selector, second!.deployment.spec.selector);
  });
});

describe('labels', () => {
  const selects = (
    selector: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>> = {},
  ): boolean => Object.entries(selector).every(([name, value]) => labels[name] === value);

  test('Service, Deployment and budget select the pods of the controller, and no others', async () => {
    const rendering = await renderChart({ controller: { podDisruptionBudget: { minAvailable: 1 } } });
    const pods = rendering.deployment.spec.template.metadata.labels ?? {};
    const service = rendering.get('Service')['spec'] as { readonly selector: Readonly<Record<string, string>> };
    const budget = rendering.get('PodDisruptionBudget')['spec'] as typeof rendering.deployment.spec;
    // The worst that an owner of a Gateway may do: all the labels that this chart puts on objects of its own.
    const gateway = { metadata: { name: 'web' }, spec: { gatewayClassName: 'proxy' } } as Gateway;
    const deployed = labelDeployed(gateway);
    for (const selector of [
      service.selector,
      budget.selector.matchLabels,
      rendering.deployment.spec.selector.matchLabels,
    ]) {
      assert.ok(selects(selector, pods));
      assert.ok(!selects(selector, rendering.get('Pod').metadata.labels));
      assert.ok(!selects(selector, deployed));
      assert.equal(selector['app.kubernetes.io/component'], 'controller');
    }
    for (const name of Object.keys(deployed)) assert.equal(pods[name], undefined, name);
  });

  test('every object says which chart, release and version it is of', async () => {
    for (const { kind, metadata } of (await renderChart({}, { release: 'edge' })).objects) {
      const { labels = {} } = metadata;
      assert.equal(labels['app.kubernetes.io/name'], 'proxy', kind);
      assert.equal(labels['app.kubernetes.io/instance'], 'edge', kind);
      assert.equal(labels['app.kubernetes.io/managed-by'], 'Helm', kind);
      assert.match(labels['helm.sh/chart'] ?? '', /^proxy-\d/, kind);
    }
  });
});
