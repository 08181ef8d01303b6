// Both charts as helm sees them: linted, of this version, with notes that lead on; and CRDs that survive an uninstall.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { matchesLabels } from '../../src/api/label-selector.ts';
import { ownKinds } from '../../src/api/structural-schema.ts';
import { version } from '../../src/base/version.ts';
import { combinations } from './combinations.ts';
import { crdChart, kubeVersion, productionValues, proxyChart, renderChart, runHelm, type Values } from './helm.ts';

describe('helm lint --strict', () => {
  for (const chart of [proxyChart, crdChart]) {
    test(chart.split('/').at(-1), async () => {
      const { stdout } = await runHelm(['lint', chart, '--strict', '--kube-version', kubeVersion]);
      assert.match(stdout, /1 chart\(s\) linted, 0 chart\(s\) failed/);
      assert.doesNotMatch(stdout, /WARNING|ERROR/);
    });
  }

  for (const { name, values } of combinations) {
    test(`proxy, ${name}`, async () => {
      const args = ['lint', proxyChart, '--strict', '--kube-version', kubeVersion, '--values', '-'];
      const { stdout } = await runHelm(args, { input: JSON.stringify(values) });
      assert.doesNotMatch(stdout, /WARNING|ERROR/);
    });
  }
});

test('helm lint --strict, values-production.yaml', async () => {
  const args = ['lint', proxyChart, '--strict', '--kube-version', kubeVersion, '--values', productionValues];
  assert.doesNotMatch((await runHelm(args)).stdout, /WARNING|ERROR/);
});

describe('NOTES.txt', () => {
  // `helm template` does not print the notes, and `helm install` needs a cluster: here they are the content of an object.
  const copy = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-chart-'));
  cpSync(proxyChart, copy, { recursive: true });
  const text = readFileSync(join(copy, 'templates', 'NOTES.txt'), 'utf8');
  writeFileSync(
    join(copy, 'templates', 'notes.yaml'),
    `{{- define "notes" -}}${text}{{- end -}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {notes: {{ include "notes" . | toJson }}}\n`,
  );
  after(() => rmSync(copy, { recursive: true, force: true }));

  async function readNotes(values: Values): Promise<string> {
    const rendering = await renderChart(values, { chart: copy, release: 'edge', namespace: 'edge-system' });
    return (rendering.get('ConfigMap')['data'] as { readonly notes: string }).notes;
  }

  test('have the next three commands', async () => {
    const notes = await readNotes({});
    assert.deepEqual(notes.match(/^(kubectl|helm) .*$/gm), [
      'kubectl --namespace edge-system rollout status deployment/edge-proxy',
      'helm test edge --namespace edge-system --logs',
      "kubectl apply -f - <<'END'",
      'helm upgrade edge charts/proxy --namespace edge-system --reset-then-reuse-values --set controller.xds.tls.enabled=true,controller.xds.tls.generate=true',
    ]);
    assert.equal(parse(/<<'END'\n(.*)^END$/ms.exec(notes)![1]!).kind, 'Gateway');
  });

  test('warn of xDS without TLS, with the command that turns it on', async () => {
    const [, commands = ''] = (await readNotes({})).split(/^WARNING: Gateways are served without TLS\. .*:$/m);
    const lines = commands.trim().split(/\n+/);
    assert.equal(lines.length, 1, commands);
    const [, flag = ''] = / --set (\S+)$/.exec(lines[0]!)!;
    const rendering = await renderChart({}, { args: ['--set', flag] });
    assert.equal(rendering.variable('MCP_GATEHOUSE_XDS_TLS'), 'true');
    assert.equal(rendering.variable('MCP_GATEHOUSE_XDS_TLS_GENERATE'), 'true');
  });

  test('say that TLS needs nothing else when the certificate is made', async () => {
    const notes = await readNotes({ controller: { xds: { tls: { enabled: true, generate: true } } } });
    assert.match(notes, /proxy-xds-cert in edge-system\. The controller makes it/);
    assert.doesNotMatch(notes, /without TLS|WARNING|helm upgrade|is ready once/);
  });

  const selections: readonly (readonly [what: string, selector: object, metadata: object])[] = [
    ['labels', { matchLabels: { mcp: 'yes', tier: '1' } }, { name: 'mcp-gateways', labels: { mcp: 'yes', tier: '1' } }],
    [
      'expressions',
      {
        matchExpressions: [
          { key: 'team', operator: 'In', values: ['a', 'b'] },
          { key: 'mcp', operator: 'Exists' },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'env', operator: 'NotIn', values: ['dev'] },
        ],
      },
      { name: 'mcp-gateways', labels: { team: 'a', mcp: 'yes' } },
    ],
    ['a name', { matchLabels: { 'kubernetes.io/metadata.name': 'tools' } }, { name: 'tools' }],
    ['everything', {}, { name: 'mcp-gateways' }],
  ];
  for (const [what, selector, expected] of selections)
    test(`suggest a Gateway where it is looked after: selected by ${what}`, async () => {
      const notes = await readNotes({ discoveryNamespaceSelectors: [selector, { matchLabels: { other: 'x' } }] });
      const [namespace, gateway] = parseAllDocuments(/<<'END'\n(.*)^END$/ms.exec(notes)![1]!).map(
        (document) => document.toJS() as { readonly kind: string; readonly metadata: Record<string, string> },
      );
      assert.deepEqual([namespace?.kind, namespace?.metadata], ['Namespace', expected]);
      assert.deepEqual([gateway?.kind, gateway?.metadata['namespace']], ['Gateway', namespace?.metadata['name']]);
      const labels = {
        ...(expected as { labels?: object }).labels,
        'kubernetes.io/metadata.name': namespace!.metadata['name']!,
      };
      assert.ok(matchesLabels(selector, labels), 'the selector selects it');
    });

  test('say which Secret TLS needs', async () => {
    const notes = await readNotes({ controller: { xds: { tls: { enabled: true } } } });
    assert.match(notes, /proxy-xds-cert/);
    assert.match(notes, /edge-proxy\.edge-system\.svc/);
    assert.doesNotMatch(notes, /without TLS|WARNING|helm upgrade/);
  });
});

describe('proxy-crds', () => {
  test('has the CRDs of our kinds, which helm leaves when it uninstalls', async () => {
    const { objects } = await renderChart({}, { chart: crdChart, release: 'proxy-crds' });
    assert.equal(objects.length, ownKinds.length);
    for (const { kind, metadata } of objects) {
      assert.equal(kind, 'CustomResourceDefinition');
      assert.equal(metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    }
  });

  test('has no values', async () => {
    await assert.rejects(renderChart({ keep: false }, { chart: crdChart }), /additional properties 'keep' not allowed/);
  });
});

test('packages have the version of this program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-chart-'));
  try {
    for (const chart of [proxyChart, crdChart]) {
      const { stdout } = await runHelm(['package', chart, '--destination', folder]);
      assert.ok(stdout.trim().endsWith(`-${version}.tgz`), stdout);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
