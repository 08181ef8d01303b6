// Every value of the chart has an effect, in a rendered object and in what the controller makes of it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { listLeafKeys, readChartValues } from '../../scripts/chart-values.ts';
import { controllerCommandFlags } from '../../src/cmd/controller-flags.ts';
import { version } from '../../src/base/version.ts';
import { readSettings } from './controller-settings.ts';
import { proxyChart, renderChart } from './helm.ts';
import type { Rendering } from './rendering.ts';
import { listRules, nameCase, toValues, valueCases } from './value-cases.ts';

const values = readChartValues(readFileSync(join(proxyChart, 'values.yaml'), 'utf8'));
let defaults: Rendering;

before(async () => {
  defaults = await renderChart();
});

test('every key of values.yaml has a case, and every case a key', () => {
  const cases = [...new Set(valueCases.map(({ key }) => key))];
  assert.deepEqual(cases.toSorted(), listLeafKeys(values).toSorted());
  assert.ok(cases.length >= 30);
  const names = valueCases.map(nameCase);
  assert.equal(new Set(names).size, names.length);
});

for (const valueCase of valueCases) {
  test(nameCase(valueCase), async () => {
    const { key, value } = valueCase;
    const declared = values.find(({ path }) => path.join('.') === key);
    assert.notDeepEqual(value, declared?.default, 'the case has the default');
    valueCase.check(await renderChart(toValues(valueCase)));
    assert.throws(() => valueCase.check(defaults), 'the case holds for the defaults, too');
    const { with: others } = valueCase;
    if (others === undefined) return;
    const without = await renderChart(others);
    assert.throws(() => valueCase.check(without), 'the case holds without the value, too');
  });
}

describe('the defaults', () => {
  test('have exactly these objects', () => {
    assert.deepEqual(
      defaults.objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`).toSorted(),
      [
        'ClusterRole /proxy-reader',
        'ClusterRole /proxy-writer',
        'ClusterRoleBinding /proxy-reader',
        'ClusterRoleBinding /proxy-writer',
        'Deployment proxy-system/proxy',
        'Pod proxy-system/proxy-test',
        'Role proxy-system/proxy',
        'RoleBinding proxy-system/proxy',
        'Service proxy-system/proxy',
        'ServiceAccount proxy-system/proxy',
      ],
    );
  });

  test('give no right to InferencePools, and to Pods only those to read', () => {
    assert.deepEqual(
      listRules(defaults).filter((rule) => /inference|pods/.test(rule)),
      ['/pods get', '/pods list', '/pods watch'],
    );
  });

  test('start the controller as it starts by itself, but for what a pod knows', () => {
    const { logFormat, imageRegistry, podName, podAddress, ...settings } = readSettings(defaults);
    const own = readSettings({ container: { args: ['controller'], env: [] } } as unknown as Rendering);
    const { logFormat: _, imageRegistry: __, podName: ___, podAddress: ____, ...expected } = own;
    assert.deepEqual(settings, expected);
    assert.deepEqual(
      [logFormat, imageRegistry, podName, podAddress],
      ['json', 'ghcr.io/mcp-gatehouse', 'proxy-0', '10.0.0.1'],
    );
  });

  test('are hardened', () => {
    for (const pod of [defaults.pod, defaults.testPod]) {
      assert.deepEqual(pod.securityContext, {
        runAsNonRoot: true,
        runAsUser: 65532,
        runAsGroup: 65532,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      assert.deepEqual(pod.containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('have the image of this version, and scraping switched on', () => {
    assert.equal(defaults.container.image, `ghcr.io/mcp-gatehouse/controller:${version}`);
    assert.equal(defaults.testPod.containers[0].image, defaults.container.image);
    assert.deepEqual(defaults.deployment.spec.template.metadata.annotations, {
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': '9092',
    });
  });

  test('leave the strategy to Kubernetes, and everything that is empty away', () => {
    assert.equal(defaults.deployment.spec['strategy'], undefined);
    for (const field of [
      'affinity',
      'nodeSelector',
      'tolerations',
      'imagePullSecrets',
      'priorityClassName',
      'topologySpreadConstraints',
    ])
      assert.ok(!(field in defaults.pod), field);
    assert.ok(!('resources' in defaults.container));
    assert.deepEqual(defaults.deployment.metadata.annotations, undefined);
  });

  test('have the token for the replica that leads where the program looks for it', () => {
    const { xdsTokenFile } = readSettings(defaults);
    const mount = defaults.container.volumeMounts?.[0];
    assert.equal(`${mount?.mountPath}/token`, xdsTokenFile);
    assert.deepEqual(defaults.pod.volumes, [
      {
        name: mount?.name,
        projected: {
          sources: [{ serviceAccountToken: { audience: 'proxy-xds', expirationSeconds: 3600, path: 'token' } }],
        },
      },
    ]);
  });
});

test('null empties objects and lists', async () => {
  const keys = values.filter(({ schema }) => schema?.type === 'object' || schema?.type === 'array');
  assert.ok(keys.length >= 10);
  for (const { path } of keys) {
    const key = path.join('.');
    const rendering = await renderChart(toValues({ key, value: null, check: () => {} }));
    readSettings(rendering);
    if (key === 'podAnnotations')
      assert.ok(!('prometheus.io/scrape' in (rendering.deployment.spec.template.metadata.annotations ?? {})));
    else assert.equal(rendering.text, defaults.text, key);
  }
});

test('a ServiceAccount that is there already is bound, and not made', async () => {
  const rendering = await renderChart({ serviceAccount: { create: false, name: 'platform' } });
  assert.deepEqual(rendering.list('ServiceAccount'), []);
  assert.equal(rendering.pod.serviceAccountName, 'platform');
  const bindings = [...rendering.list('ClusterRoleBinding'), ...rendering.list('RoleBinding')];
  assert.deepEqual(
    bindings.map(({ subjects }) => subjects),
    Array.from({ length: 3 }, () => [{ kind: 'ServiceAccount', name: 'platform', namespace: 'proxy-system' }]),
  );
});

test('a port below 1024 can be bound without a capability', async () => {
  const ports = { proxyGrpc: 443 };
  const { pod } = await renderChart({ controller: { service: { ports } } });
  assert.deepEqual(pod.securityContext['sysctls'], [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }]);
  assert.ok(!('sysctls' in defaults.pod.securityContext));
});

test('numbers keep their text, however they come', async () => {
  for (const args of [
    ['--set', 'controller.extraEnv.N=12345678'],
    ['--set-json', 'controller.extraEnv={"N":12345678}'],
  ])
    assert.equal((await renderChart({}, { args })).variable('N'), '12345678');
});

test('the chart sets no variable that the controller does not read', async () => {
  const known = new Set<string>(Object.values(controllerCommandFlags.flags).map(({ env }) => env));
  const all = {
    controller: { xds: { tls: { enabled: true } } },
    image: { digest: `sha256:${'0'.repeat(64)}` },
    imagePullSecrets: [{ name: 'a' }],
    networkPolicy: { enabled: true },
    rbac: { secretsInNamespaces: ['a'] },
  };
  for (const some of [{}, all]) {
    const { container } = await renderChart(some);
    assert.deepEqual(
      container.env.map(({ name }) => name).filter((name) => !known.has(name)),
      [],
    );
  }
});
