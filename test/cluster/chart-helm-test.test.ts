// `helm test` on an installation: it passes when the controller is ready and serves xDS, and says what is wrong when not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { crdChart, proxyChart, renderChart } from '../chart/helm.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import type { Cluster } from './cluster.ts';
import { createTlsSecret } from './cluster-resources.ts';
import { claimNamespace } from './file-namespace.ts';
import { HelmInstallation } from './helm-installation.ts';
import { clearInstallation, installationNamespace, InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const isTls = ['--set', 'controller.xds.tls.enabled=true'];
claimNamespace('chart-helm-test');
let cluster: Cluster;
let installation: HelmInstallation;
let controller: InstalledController;

before(async () => {
  cluster = await joinCluster();
  await clearInstallation(cluster);
  installation = new HelmInstallation(cluster);
  controller = new InstalledController(cluster);
  await helm('install', 'proxy-crds', crdChart, '--take-ownership');
});
after(async () => {
  await installation?.uninstall();
  await leaveCluster();
});

const helm = (...args: readonly string[]): Promise<string> => installation.run(args);

test('it passes after an installation, and leaves its words', async () => {
  await helm('install', 'proxy', proxyChart, '--wait');
  const said = await helm('test', 'proxy', '--logs');
  assert.match(said, /^Phase: +Succeeded$/m);
  assert.match(said, /^ready http:\/\/proxy\.proxy-system\.svc:9093\/readyz: yes$/m);
  assert.match(said, /^xds proxy\.proxy-system\.svc:9978: served without TLS, and peers without a token are refused$/m);
});

test('it fails when gateways cannot connect, with the reason', async () => {
  // The pod of another installation, which has this port, and less time.
  const rendering = await renderChart({ controller: { service: { ports: { proxyGrpc: 9979 } } } });
  const [container] = rendering.testPod.containers;
  const args = container.args.with(container.args.indexOf('--timeout') + 1, '1s');
  const metadata = { name: 'impatient', namespace: installationNamespace };
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { ...rendering.testPod, containers: [{ ...container, args }] },
  });
  await cluster.waitForObject<PodObject>(
    `/api/v1/namespaces/${installationNamespace}/pods/impatient`,
    ({ status }) => status.phase === 'Failed',
  );
  const said = await cluster.logs(installationNamespace, 'impatient');
  assert.match(said, /^ready \S+: yes$/m);
  assert.match(said, /^xds proxy\.proxy-system\.svc:9979: \S/m);
});

test('over TLS it waits for the Secret, and trusts its authority', async () => {
  await helm('upgrade', 'proxy', proxyChart, ...isTls);
  const testing = helm('test', 'proxy', '--logs');
  const issuer = createAuthority();
  const certificate = createCertificate({ names: [`proxy.${installationNamespace}.svc`], issuer });
  await cluster.apply(createTlsSecret('proxy-xds-cert', installationNamespace, certificate, issuer.cert));
  await controller.waitUntilReady();
  const said = await testing;
  assert.match(said, /^Phase: +Succeeded$/m);
  assert.match(said, /^xds proxy\.proxy-system\.svc:9978: served over TLS, and peers without a token are refused$/m);
});
