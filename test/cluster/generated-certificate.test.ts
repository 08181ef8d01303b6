// charts/proxy/values-production.yaml, installed: xDS over TLS in one step, with a certificate that the controller makes itself, and a gateway that is closed by default. Then the
// Secret is deleted, under a steady load, and everybody finds each other again.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { crdChart, productionValues, proxyChart } from '../chart/helm.ts';
import type { ApiObject } from './api-client.ts';
import { createRoute, toService } from './cluster-resources.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { findControllerUrl } from './gateway-rollout.ts';
import { HelmInstallation } from './helm-installation.ts';
import { clearInstallation, installationNamespace, InstalledController } from './installed-controller.ts';
import { deployProtectedGateway, type ProtectedGateway } from './protected-gateway.ts';
import { waitForCondition } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const secret = locateResource({ kind: 'Secret', name: 'proxy-xds-cert', namespace: installationNamespace });
const namespace = claimNamespace('generated-certificate');
let cluster: Cluster;
let helm: HelmInstallation;
let controller: InstalledController;
let gateway: ProtectedGateway;

before(async () => {
  cluster = await joinCluster();
  await clearInstallation(cluster);
  helm = new HelmInstallation(cluster);
  controller = new InstalledController(cluster);
  await helm.run(['install', 'proxy-crds', crdChart, '--take-ownership']);
  await cluster.apply(
    readFileSync(join(import.meta.dirname, '../../examples/kubernetes/production-parameters.yaml'), 'utf8'),
  );
});
after(async () => {
  await helm?.uninstall();
  await leaveCluster();
});

type SecretObject = ApiObject & { readonly data: Readonly<Record<string, string>> };

const readEntry = ({ data }: SecretObject, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();

test('one helm command, and a gateway is programmed over TLS', async (t) => {
  await helm.run(['install', 'proxy', proxyChart, '--wait', '--timeout', '110s', '--values', productionValues]);
  assert.equal((await controller.listPods()).length, 2);
  const made = await cluster.api.get<SecretObject>(secret);
  const certificate = new X509Certificate(readEntry(made, 'tls.crt'));
  assert.ok(certificate.checkHost(`proxy.${installationNamespace}.svc`));
  assert.ok(certificate.validToDate.getTime() > Date.now() + 80 * 86_400_000);
  const said = await helm.run(['test', 'proxy', '--logs']);
  assert.match(said, /^xds proxy\.proxy-system\.svc:9978: served over TLS/m);
  gateway = await deployProtectedGateway(cluster, 2);
  for (const pod of await gateway.listPods())
    assert.equal(findControllerUrl(pod), `https://proxy.${installationNamespace}.svc:9978`);
  await gateway.proveChange(t);
  assert.equal(await controller.readMetric('mcp_gateway_controller_certificate_degraded'), 0);
  assert.equal(readEntry(await cluster.api.get<SecretObject>(secret), 'tls.crt'), readEntry(made, 'tls.crt'));
});

test('what else production is to have: a route without a policy is closed at both pods, and there are budgets and network policies', async () => {
  await cluster.apply(createRoute('bare', { path: '/bare', to: toService('echo') }));
  await waitForCondition(
    cluster,
    { kind: 'HTTPRoute', name: 'bare' },
    { type: 'Protected', status: 'False', reason: 'Unprotected' },
  );
  for (const { status } of await gateway.listPods())
    await cluster.waitFor(async () => (await fetch(`http://${status.podIP ?? ''}/bare`)).status === 403, {
      what: 'the route is closed',
    });
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'])
    for (const owner of [
      { name: 'web-proxy', namespace },
      { name: 'proxy', namespace: installationNamespace },
    ])
      await cluster.waitForObject(locateResource({ kind, ...owner }), () => true);
});

test('a Secret that is deleted is made anew, and gateways trust the new authority', async (t) => {
  const load = await gateway.startLoad(t);
  const old = await cluster.api.get<SecretObject>(secret);
  await cluster.api.delete(secret);
  await cluster.waitForObject<SecretObject>(secret, (now) => readEntry(now, 'tls.crt') !== readEntry(old, 'tls.crt'), {
    what: 'there is another certificate',
  });
  // All connections end with the processes; new ones need the new authority.
  for (const { metadata } of await controller.listPods())
    await cluster.signalContainer({ namespace: installationNamespace, pod: metadata.name }, 'SIGKILL');
  await gateway.proveChange(t);
  await gateway.expectUnharmed(t, load);
});
