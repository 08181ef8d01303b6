// The chart as a dependency of another chart: its values come through, `global` too, and mistakes in them are refused.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import { version } from '../../src/base/version.ts';
import { proxyChart, readRefusal, renderChart } from './helm.ts';

const parent = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-chart-'));

before(() => {
  mkdirSync(join(parent, 'templates'));
  cpSync(proxyChart, join(parent, 'charts', 'proxy'), { recursive: true });
  writeFileSync(
    join(parent, 'Chart.yaml'),
    stringify({
      apiVersion: 'v2',
      name: 'platform',
      version: '1.0.0',
      dependencies: [
        { name: 'proxy', version, condition: 'gateways.enabled' },
        { name: 'proxy', version, alias: 'inner', condition: 'inner-gateways.enabled' },
      ],
    }),
  );
  writeFileSync(
    join(parent, 'values.yaml'),
    stringify({
      global: { domain: 'example.com' },
      'inner-gateways': { enabled: false },
      proxy: {
        controller: { logLevel: 'warn', extraEnv: { COUNT: 12345678 } },
        podSecurityContext: { runAsUser: null },
      },
    }),
  );
});
after(() => rmSync(parent, { recursive: true, force: true }));

const options = { chart: parent, release: 'platform', namespace: 'platform' };

test('it gets its values, those of its parent over its own', async () => {
  const rendering = await renderChart({ proxy: { controller: { replicaCount: 2 } } }, options);
  assert.equal(rendering.deployment.metadata.name, 'platform-proxy');
  assert.equal(rendering.deployment.spec.replicas, 2);
  assert.equal(rendering.variable('MCP_GATEHOUSE_LOG_LEVEL'), 'warn');
  assert.equal(rendering.variable('COUNT'), '12345678');
  assert.equal(rendering.variable('MCP_GATEHOUSE_SERVICE_NAME'), 'platform-proxy');
  assert.deepEqual(rendering.pod.securityContext, {
    runAsGroup: 65532,
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  });
});

test('a parent that is called proxy has the short name', async () => {
  const rendering = await renderChart({}, { ...options, release: 'proxy' });
  assert.equal(rendering.deployment.metadata.name, 'proxy');
});

test('twice, with an alias', async () => {
  const rendering = await renderChart({ 'inner-gateways': { enabled: true }, inner: { image: { tag: '2' } } }, options);
  assert.deepEqual(
    rendering
      .list('Deployment')
      .map(({ metadata }) => metadata.name)
      .toSorted(),
    ['platform-inner', 'platform-proxy'],
  );
});

test('a condition switches it off', async () => {
  assert.deepEqual((await renderChart({ gateways: { enabled: false } }, options)).objects, []);
});

test('an unknown key is refused there, too', async () => {
  const text = await readRefusal({ proxy: { controller: { loglevel: 'info' } } }, options);
  assert.ok(text.includes("proxy:\n- at '/controller': additional properties 'loglevel' not allowed"), text);
});
