// The files of the charts, without helm: generated parts are up to date, versions are those of the package, and the values are those that people rely on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { listLeafKeys, readChartValues } from '../scripts/chart-values.ts';
import { renderChart } from '../scripts/generate-chart.ts';
import { renderCrds } from '../scripts/generate-crds.ts';
import { findStaleFiles } from '../scripts/write-generated.ts';
import { version } from '../src/base/version.ts';

const charts = join(import.meta.dirname, '..', 'charts');
const values = readFileSync(join(charts, 'proxy', 'values.yaml'), 'utf8');

test('the schema and the table of README.md are those of values.yaml (node scripts/generate-chart.ts)', async () => {
  assert.deepEqual(await findStaleFiles(await renderChart()), []);
});

for (const name of ['proxy', 'proxy-crds']) {
  test(`the chart ${name} has the version of the package`, () => {
    const chart = parse(readFileSync(join(charts, name, 'Chart.yaml'), 'utf8')) as Readonly<Record<string, unknown>>;
    assert.deepEqual([chart['name'], chart['version'], chart['appVersion']], [name, version, version]);
    assert.equal(chart['kubeVersion'], '>=1.30.0-0');
  });
}

test('the values are exactly these', () => {
  assert.deepEqual(parse(values), {
    affinity: {},
    controller: {
      extraEnv: {},
      image: { digest: '', pullPolicy: '', registry: '', repository: 'controller', tag: '' },
      logLevel: 'info',
      podDisruptionBudget: {},
      replicaCount: 1,
      service: { ports: { proxyGrpc: 9978, health: 9093, metrics: 9092 }, type: 'ClusterIP' },
      strategy: {},
      xds: { tls: { enabled: false, generate: false } },
    },
    dashboards: { enabled: false, labels: { grafana_dashboard: '1' } },
    deploymentAnnotations: {},
    discoveryNamespaceSelectors: [],
    fullnameOverride: '',
    gatewayClassParametersRefs: {},
    image: { digest: '', pullPolicy: 'IfNotPresent', registry: 'ghcr.io/mcp-gatehouse', tag: '' },
    imagePullSecrets: [],
    inferenceExtension: { enabled: false },
    nameOverride: '',
    networkPolicy: {
      apiServer: { cidrs: [], ports: [443, 6443] },
      clients: [],
      enabled: false,
      metrics: [],
      upstreams: [],
    },
    nodeSelector: {},
    podAnnotations: { 'prometheus.io/scrape': 'true' },
    podLabels: {},
    podSecurityContext: {},
    priorityClassName: '',
    prometheusRule: { enabled: false, labels: {} },
    rbac: { aggregateRoles: false, secretsInNamespaces: [] },
    resources: {},
    securityContext: {},
    serviceAccount: { annotations: {}, create: true, name: '' },
    serviceMonitor: { enabled: false, interval: '', labels: {} },
    tolerations: [],
    topologySpreadConstraints: [],
  });
});

interface Schema {
  readonly type?: unknown;
  readonly description?: string;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

test('the schema describes every key, and refuses others on every level', () => {
  const schema = JSON.parse(readFileSync(join(charts, 'proxy', 'values.schema.json'), 'utf8')) as Schema;
  const visit = (node: Schema, path: readonly string[]): readonly string[] => {
    if (path.length > 0) assert.ok((node.description ?? '') !== '', path.join('.'));
    const isLeaf = listLeafKeys(readChartValues(values)).includes(path.join('.'));
    if (isLeaf || path[0] === 'global') return [path.join('.')];
    assert.equal(node.additionalProperties, false, path.join('.'));
    return Object.entries(node.properties ?? {}).flatMap(([key, below]) => visit(below, [...path, key]));
  };
  assert.deepEqual(visit(schema, []).toSorted(), [...listLeafKeys(readChartValues(values)), 'global'].toSorted());
});

test('README.md of proxy-crds removes what the chart has', () => {
  const readme = readFileSync(join(charts, 'proxy-crds', 'README.md'), 'utf8');
  const removed = /^kubectl delete crd (.+)$/m.exec(readme)![1]!.split(' ');
  const names = Object.values(renderCrds()).map(
    (text) => (parse(text) as { metadata: { name: string } }).metadata.name,
  );
  assert.deepEqual(removed.toSorted(), names.toSorted());
});

describe('annotated values', () => {
  test('are read with groups, defaults below a key, and schemas of several lines', () => {
    const text = `# About the file.

# A group.
group:
  # One
  # of two.
  # @schema {type: object,
  #   additionalProperties: {type: string}}
  map:
    key: value
    other: value

  # The other.
  # @schema {type: integer, minimum: 1}
  count: 3
`;
    assert.deepEqual(readChartValues(text), [
      {
        path: ['group'],
        description: 'A group.',
        schema: undefined,
        default: { map: { key: 'value', other: 'value' }, count: 3 },
      },
      {
        path: ['group', 'map'],
        description: 'One of two.',
        schema: { type: 'object', additionalProperties: { type: 'string' } },
        default: { key: 'value', other: 'value' },
      },
      { path: ['group', 'count'], description: 'The other.', schema: { type: 'integer', minimum: 1 }, default: 3 },
    ]);
  });

  const faults: readonly (readonly [string, RegExp])[] = [
    ['a: 1\n', /^a has no description above it$/],
    ['# @schema {type: string}\na: b\n', /^a has no description above it$/],
    ['# Words.\n# @schema {type: string}\n# More words.\na: b\n', /^a: lines after @schema are its continuation/],
    ['# Words.\n# @schema [string]\na: b\n', /^a: @schema must be an object with a type$/],
  ];
  for (const [text, message] of faults)
    test(`are refused: ${JSON.stringify(text)}`, () => assert.throws(() => readChartValues(text), { message }));
});
