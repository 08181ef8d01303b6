// Whether the controller serves gateways without TLS, by how its Deployment starts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPlaintext } from './describe-controller.ts';
import { viewObjects } from './testing/cluster-case.ts';

const variable = (value: string): object => ({ name: 'MCP_GATEHOUSE_XDS_TLS', value });
const labels = { 'app.kubernetes.io/component': 'controller' };

function looksPlain(containers: unknown, own: object = labels): boolean {
  const view = viewObjects([
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'proxy', namespace: 'proxy-system', labels: { ...own } },
      spec: { template: { spec: { containers } } },
    },
  ]);
  return listPlaintext(view).length > 0;
}

const plain: Readonly<Record<string, object>> = {
  'the variable is false': { args: ['controller'], env: [variable('false')] },
  'in other words': { args: ['controller'], env: [variable('off')] },
  'it is not set': { args: ['controller'], env: [{ name: 'OTHER', value: 'true' }] },
  'there are no variables': { args: ['controller', '--log-level', 'debug'] },
  'it is empty': { args: ['controller'], env: [variable('')] },
};

const notPlain: Readonly<Record<string, object>> = {
  'the variable is true': { args: ['controller'], env: [variable('true')] },
  'in other words': { args: ['controller'], env: [variable('1')] },
  'a flag says it': { args: ['controller', '--xds-tls'], env: [variable('false')] },
  'it comes from elsewhere': {
    args: ['controller'],
    env: [{ name: 'MCP_GATEHOUSE_XDS_TLS', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } }],
  },
  'it is neither': { args: ['controller'], env: [variable('perhaps')] },
  'it is not the controller': { args: ['serve'], env: [variable('false')] },
};

for (const [name, container] of Object.entries(plain))
  test(`plain: ${name}`, () => assert.equal(looksPlain([{ name: 'sidecar' }, container]), true));

for (const [name, container] of Object.entries(notPlain))
  test(`not known to be plain: ${name}`, () => assert.equal(looksPlain([container]), false));

test('a Gateway of the same namespace is none', () => {
  const own = { ...labels, 'gateway.networking.k8s.io/gateway-name': 'web' };
  assert.equal(looksPlain([{ args: ['controller'] }], own), false);
});

test('whatever stands there breaks nothing', () => {
  for (const containers of [undefined, null, 'a', {}, [null], [{ args: 'controller' }], [{ args: [1], env: {} }]])
    assert.equal(looksPlain(containers), false);
});
