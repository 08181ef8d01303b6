// The images as users get them, on a cluster: installed, deployed by the controller, serving, and as confined as they should be.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Cluster } from './cluster.ts';
import { createEcho, createGateway, createRoute, toService } from './cluster-resources.ts';
import { waitForGatewayPod, waitUntilReachable } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { buildProductImages, createCheckoutImages } from './image-table.ts';
import {
  installationNamespace,
  installController,
  type InstalledController,
  removeController,
} from './installed-controller.ts';
import { waitUntilWell } from './resource-conditions.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('product-images');
let cluster: Cluster;
let controller: InstalledController;

before(async () => {
  cluster = await joinCluster();
  // That of another file runs from the checkout.
  await removeController(cluster);
  await cluster.addImages(await buildProductImages());
  await cluster.apply(createEcho('echo'));
  controller = await installController(cluster);
});
after(async () => {
  if (cluster !== undefined) {
    await removeController(cluster);
    await cluster.addImages(createCheckoutImages(cluster.folder));
  }
  await leaveCluster();
});

test('the controller deploys a gateway that serves', async () => {
  await cluster.apply([createGateway('web'), createRoute('to-echo', { to: toService('echo') })]);
  await waitUntilWell(cluster, [
    { kind: 'GatewayClass', name: 'proxy' },
    { kind: 'Gateway', name: 'web' },
    { kind: 'HTTPRoute', name: 'to-echo' },
  ]);
  const answer = await fetch(`http://${await waitUntilReachable(cluster, 'web')}/`);
  assert.equal(answer.status, 200);
  assert.equal(((await answer.json()) as { readonly pod: string }).pod, 'echo');
});

test('its containers have the files of the image, and no shell', async () => {
  const [controllerPod] = await controller.listPods();
  const gatewayPod = await waitForGatewayPod(cluster, 'web');
  const containers = [
    { namespace: installationNamespace, pod: controllerPod!.metadata.name, container: 'controller' },
    { namespace, pod: gatewayPod.metadata.name, container: 'gateway' },
  ];
  for (const name of containers) {
    assert.notEqual((await cluster.exec({ ...name, command: ['/bin/sh', '-c', 'true'] })).exitCode, 0);
    const version = await cluster.exec({ ...name, command: ['/usr/local/bin/mcp-gatehouse', '--version'] });
    assert.deepEqual([version.exitCode, version.stderr], [0, '']);
    const command = ['/usr/local/bin/node', '-p', 'process.getuid() + " " + fs.readdirSync("/")'];
    const looked = await cluster.exec({ ...name, command });
    assert.equal(looked.stdout, '65532 .network,.tools,app,dev,etc,lib64,proc,run,sys,tmp,usr,var\n');
    const { residentBytes } = await cluster.readUsage(name);
    console.log(`${name.container}: ${Math.round(residentBytes / 1e6)} MB resident`);
  }
});

test('the status of the cluster can be asked for inside of the controller', async () => {
  const [pod] = await controller.listPods();
  const name = { namespace: installationNamespace, pod: pod!.metadata.name, container: 'controller' };
  const { exitCode, stdout, stderr } = await cluster.exec({
    ...name,
    command: ['mcp-gatehouse', 'status', '--all-namespaces'],
  });
  assert.equal(exitCode, 0, stdout + stderr);
  assert.match(stdout, /\bweb\b/);
});
