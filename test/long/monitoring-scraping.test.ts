// docs/monitoring/: the examples of scraping find what the chart and the controller deploy, and label it as the dashboard and the alerts expect.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { gatewayNameLabel } from '../../src/api/gateway.ts';
import { managedBy, managedByLabel } from '../../src/deploy/deployed-names.ts';

const readText = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'monitoring', name), 'utf8');

interface PodMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Monitor {
  readonly kind: string;
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly endpoints?: readonly { readonly port: string }[];
    readonly podMetricsEndpoints?: readonly {
      readonly port: string;
      readonly relabelings: readonly { readonly sourceLabels: readonly string[]; readonly targetLabel: string }[];
    }[];
  };
}

interface Relabeling {
  readonly source_labels: readonly string[];
  readonly regex?: string;
  readonly replacement?: string;
  readonly action?: string;
  readonly target_label?: string;
}

/** The labels of a target after these steps, as Prometheus does it; undefined: it is not scraped. */
function relabel(steps: readonly Relabeling[], target: Readonly<Record<string, string>>): typeof target | undefined {
  const labels = { ...target };
  for (const { source_labels: sources, regex = '(.*)', replacement = '$1', action, target_label: label } of steps) {
    const match = new RegExp(`^(?:${regex})$`).exec(sources.map((source) => labels[source] ?? '').join(';'));
    if (action === 'keep' && match === null) return undefined;
    if (action !== 'keep' && match !== null)
      labels[label!] = replacement.replaceAll(/\$(\d)/g, (_all, group: string) => match[Number(group)] ?? '');
  }
  return labels;
}

/** How Prometheus names the label or annotation of a pod. */
function nameMeta(kind: 'label' | 'annotation', name: string): string {
  return `__meta_kubernetes_pod_${kind}_${name.replaceAll(/[^a-zA-Z0-9]/g, '_')}`;
}

const rendered = parseAllDocuments(
  readFileSync(join(import.meta.dirname, '..', 'chart', 'goldens', 'defaults.yaml'), 'utf8'),
).map((document) => document.toJS() as { readonly kind: string } & Record<string, never>);
const deployment = rendered.find(({ kind }) => kind === 'Deployment') as unknown as {
  readonly spec: { readonly template: { readonly metadata: PodMetadata } };
};
const service = rendered.find(({ kind }) => kind === 'Service') as unknown as {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly ports: readonly { readonly name: string }[] };
};
const [serviceMonitor, podMonitor] = parseAllDocuments(readText('operator.yaml')).map(
  (document) => document.toJS() as Monitor,
);

const gatewayLabels = {
  [managedByLabel]: managedBy,
  [gatewayNameLabel]: 'edge',
};

const describeTarget = ({ labels, annotations }: PodMetadata, ip: string): Record<string, string> => ({
  __meta_kubernetes_namespace: 'team',
  __meta_kubernetes_pod_name: 'pod-1',
  __meta_kubernetes_pod_ip: ip,
  __meta_kubernetes_pod_container_port_name: 'metrics',
  ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [nameMeta('label', name), value])),
  ...Object.fromEntries(Object.entries(annotations).map(([name, value]) => [nameMeta('annotation', name), value])),
});

const [job] = (parse(readText('scrape-config.yaml')) as { scrape_configs: { relabel_configs: Relabeling[] }[] })
  .scrape_configs;
const scrape = (metadata: PodMetadata, ip = '10.0.0.7', more: Record<string, string> = {}) => {
  const found = relabel(job!.relabel_configs, { ...describeTarget(metadata, ip), ...more });
  return found && Object.fromEntries(Object.entries(found).filter(([name]) => !name.startsWith('__meta')));
};

describe('the examples of scraping', () => {
  test('annotations: the controller as the chart makes it', () => {
    assert.deepEqual(scrape(deployment.spec.template.metadata), {
      __address__: '10.0.0.7:9092',
      __metrics_path__: '/metrics',
      namespace: 'team',
      pod: 'pod-1',
      gateway: '',
    });
  });

  test('annotations: a gateway, also over IPv6, and nobody else', () => {
    const annotations = {
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': '15020',
    };
    const found = scrape({ labels: gatewayLabels, annotations }, 'fd00::7');
    assert.deepEqual(found, {
      __address__: '[fd00::7]:15020',
      __metrics_path__: '/metrics',
      namespace: 'team',
      pod: 'pod-1',
      gateway: 'edge',
    });
    assert.equal(scrape({ labels: gatewayLabels, annotations: {} }), undefined);
    assert.equal(scrape({ labels: { app: 'other' }, annotations }), undefined);
    const otherPort = { __meta_kubernetes_pod_container_port_name: 'readiness' };
    assert.equal(scrape({ labels: gatewayLabels, annotations }, '10.0.0.7', otherPort), undefined);
  });

  test('operator: the Service of the controller, as the chart makes it', () => {
    const { kind, spec } = serviceMonitor!;
    assert.equal(kind, 'ServiceMonitor');
    for (const [label, value] of Object.entries(spec.selector.matchLabels))
      assert.equal(service.metadata.labels[label], value, label);
    const ports = new Set(service.spec.ports.map(({ name }) => name));
    for (const { port } of spec.endpoints!) assert.ok(ports.has(port), port);
  });

  test('operator: the pods of gateways', () => {
    const { kind, spec } = podMonitor!;
    assert.equal(kind, 'PodMonitor');
    assert.deepEqual(spec.selector.matchLabels, { [managedByLabel]: managedBy });
    // The operator sets namespace and pod by itself.
    assert.deepEqual(spec.podMetricsEndpoints, [
      {
        port: 'metrics',
        relabelings: [{ sourceLabels: [nameMeta('label', gatewayNameLabel)], targetLabel: 'gateway' }],
      },
    ]);
  });
});
