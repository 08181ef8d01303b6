// A real API server takes every rendering of the charts, with no field that it does not know, and `helm install` on it says what comes next.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { combinations } from '../chart/combinations.ts';
import {
  crdChart,
  productionValues,
  proxyChart,
  renderChart,
  type RenderOptions,
  runHelm,
  type Values,
} from '../chart/helm.ts';
import type { RenderedObject } from '../chart/rendering.ts';
import { nameCase, toValues, valueCases } from '../chart/value-cases.ts';
import { ApiError } from './api-client.ts';
import { createNamespace } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { installationNamespace, removeController } from './installed-controller.ts';
import { monitoringCrds } from './monitoring-crds.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

claimNamespace('chart-dry-run');
let cluster: Cluster;

before(async () => {
  cluster = await joinCluster();
  // Of another file: what is there cannot be created, not even for show.
  await removeController(cluster);
  const named = valueCases.flatMap(({ key, value }) => (key === 'rbac.secretsInNamespaces' ? (value as string[]) : []));
  const namespaces = new Set([
    installationNamespace,
    ...named,
    ...combinations.flatMap(({ namespace }) => namespace ?? []),
  ]);
  await cluster.apply([...namespaces].map((name) => createNamespace(name)));
});
after(leaveCluster);

const plurals: Readonly<Record<string, string>> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ConfigMap: 'configmaps',
  CustomResourceDefinition: 'customresourcedefinitions',
  Deployment: 'deployments',
  NetworkPolicy: 'networkpolicies',
  Pod: 'pods',
  PodDisruptionBudget: 'poddisruptionbudgets',
  PodMonitor: 'podmonitors',
  PrometheusRule: 'prometheusrules',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
  ServiceMonitor: 'servicemonitors',
};

/** Creates it, but for the writing. Fields that the API server does not know are refused. */
async function dryRun({ apiVersion, kind, metadata, ...rest }: RenderedObject): Promise<void> {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? group : `${group}/namespaces/${metadata.namespace}`;
  const path = `${place}/${plurals[kind]}?dryRun=All&fieldValidation=Strict`;
  await cluster.api.create(path, { apiVersion, kind, metadata, ...rest });
}

async function isServed(path: string): Promise<boolean> {
  try {
    await cluster.api.get(path);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

async function dryRunAll(values: Values, options: RenderOptions): Promise<void> {
  const { objects } = await renderChart(values, options);
  assert.ok(objects.length >= 9);
  for (const object of objects) await dryRun(object);
}

/** Before their CRDs are there. */
test('what needs the Prometheus operator is refused without it, by helm, in words', async () => {
  const place = ['--namespace', 'proxy-system', '--kubeconfig', cluster.access.kubeconfigFile];
  const values = ['--set', 'serviceMonitor.enabled=true,prometheusRule.enabled=true'];
  await assert.rejects(
    runHelm(['install', 'proxy', proxyChart, '--dry-run=server', ...values, ...place]),
    /serviceMonitor\.enabled needs the CRDs of the Prometheus operator[\s\S]*prometheusRule\.enabled needs/,
  );
});

describe('proxy', () => {
  before(async () => {
    await cluster.apply(monitoringCrds);
    for (const plural of ['servicemonitors', 'podmonitors', 'prometheusrules'])
      await cluster.waitFor(() => isServed(`/apis/monitoring.coreos.com/v1/${plural}`), {
        what: `${plural} are served`,
      });
  });
  after(() => cluster.delete(monitoringCrds));

  test('defaults', () => dryRunAll({}, {}));
  for (const valueCase of valueCases) test(nameCase(valueCase), () => dryRunAll(toValues(valueCase), {}));
  for (const { name, values, ...options } of combinations) test(name, () => dryRunAll(values, options));

  test('values-production.yaml', () => dryRunAll({}, { args: ['--values', productionValues] }));

  test('a field that there is not is refused', async () => {
    const { objects } = await renderChart();
    const deployment = objects.find(({ kind }) => kind === 'Deployment')!;
    await assert.rejects(
      dryRun({ ...deployment, spec: { ...(deployment['spec'] as object), replica: 1 } }),
      /unknown field "spec\.replica"/,
    );
  });
});

describe('helm itself', () => {
  const install = (args: readonly string[]): ReturnType<typeof runHelm> =>
    runHelm(['install', ...args, '--namespace', 'proxy-system', '--kubeconfig', cluster.access.kubeconfigFile]);

  test('installs proxy, but for the writing, and prints the next commands, and how to turn TLS on', async () => {
    const { stdout } = await install(['proxy', proxyChart, '--dry-run=server']);
    const notes = stdout.slice(stdout.indexOf('\nNOTES:\n'));
    assert.deepEqual(notes.match(/^(kubectl|helm) .*$/gm), [
      'kubectl --namespace proxy-system rollout status deployment/proxy',
      'helm test proxy --namespace proxy-system --logs',
      "kubectl apply -f - <<'END'",
      'helm upgrade proxy charts/proxy --namespace proxy-system --reset-then-reuse-values --set controller.xds.tls.enabled=true,controller.xds.tls.generate=true',
    ]);
  });

  test('installs values-production.yaml, but for the writing', async () => {
    const { stdout } = await install(['proxy', proxyChart, '--dry-run=server', '--values', productionValues]);
    assert.match(stdout, /kind: NetworkPolicy/);
  });

  test('takes over the CRDs that are there already, and leaves them', async () => {
    const list = async (): Promise<readonly string[]> => {
      const { stdout } = await cluster.kubectl(['get', 'crd', '-o', 'name']);
      return stdout.split('\n').filter((name) => name.endsWith('.gateway.proxy'));
    };
    const there = await list();
    assert.equal(there.length, 3);
    await install(['proxy-crds', crdChart, '--take-ownership', '--wait']);
    const kubeconfig = ['--namespace', 'proxy-system', '--kubeconfig', cluster.access.kubeconfigFile];
    const { stdout } = await runHelm(['uninstall', 'proxy-crds', '--wait', ...kubeconfig]);
    assert.match(stdout, /kept due to the resource policy/);
    assert.deepEqual(await list(), there);
    // And again, as the README says, without a word about ownership.
    await install(['proxy-crds', crdChart, '--wait']);
    await runHelm(['uninstall', 'proxy-crds', '--wait', ...kubeconfig]);
  });
});
