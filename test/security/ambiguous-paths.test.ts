// A protected rule beside an open one: no spelling of its path gets to the server through the open one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ask,
  readError,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import { gatewayResource, routeResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';

let upstream: Upstream;
let gateway: GatewayRun;

before(async () => {
  upstream = await startUpstream('echo');
  const to = [serviceRef('echo')];
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      ...serviceOf('echo', [upstream.port]),
      routeResource('open', [rule('/', to)]),
      routeResource('admin', [rule('/admin', to), rule('/deep/admin', to)]),
      resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'nobody', {
        spec: {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'admin' }],
          traffic: { authorization: { action: 'Deny', policy: { matchExpressions: ['true'] } } },
        },
      }),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});

for (const path of [
  '//admin',
  '///admin',
  '/admin;x',
  '/admin;x=1',
  '/admin;/users',
  '/;/admin',
  '/%2fadmin',
  '/%2Fadmin/users',
  '/%5cadmin',
  '/%5Cadmin',
  '/%252fadmin',
  '/deep//admin',
  '/deep;v=1/admin',
  '/deep%2fadmin',
  '/deep%5cadmin',
  '/deep/;x/admin',
  '//deep%2Fadmin;x',
  '/x%2f..%2fadmin',
  '/x;/..;/admin',
  '/deep/%2e%2fadmin',
])
  // prettier-ignore
  test(`${path} -> 400`, async () => {
    assert.equal(readError(await ask(gateway.port, { path })), '400 bad_target');
  });

for (const path of ['/admin', '/admin/', '/%61dmin', '/x/../admin', '/./admin', '/admin//users', '/admin/users;x'])
  test(`${path} -> the rule of /admin`, async () => {
    assert.equal(readError(await ask(gateway.port, { path })), '403 rbac_denied');
  });

for (const path of ['/', '//', '/a//b', '/a;v=1/b', '/a%2Fb', '/administrators;x', '/a/b;x?c=//admin;x'])
  test(`${path} -> 200: whoever reads it, it is open`, async () => {
    assert.equal((await ask(gateway.port, { path })).status, 200);
  });
