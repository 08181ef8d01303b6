// Secrets of namespaces that may not be read: the conditions say so, and do not claim that a Secret does not exist.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resources } from '../api/resources.ts';
import { collectResources } from './testdata/collect-resources.ts';
import { createTranslator, type Translation } from './translate.ts';

const listener = {
  name: 'https',
  port: 443,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: 'web' }] },
};
const resources = collectResources(
  [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'web', namespace: 'tools', uid: 'web' },
      spec: { gatewayClassName: 'proxy', listeners: [listener] },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'GatewayClass',
      metadata: { name: 'proxy' },
      spec: { controllerName: 'gateway.proxy/controller' },
    },
  ],
  'kubernetes',
);

function readMessage({ statuses }: Translation): string {
  const conditions = statuses.gateways['tools/web']?.listeners[0]?.conditions ?? [];
  return conditions.find(({ type }) => type === 'ResolvedRefs')?.message ?? '';
}

test('the condition says what may not be read, as long as that is so', () => {
  const { translate } = createTranslator({ placement: 'pods' });
  const unreadable: Resources = { ...resources, unreadableSecretNamespaces: ['other', 'tools'] };
  assert.match(
    readMessage(translate(unreadable)),
    /Secret tools\/web cannot be read: the controller may not read Secrets in namespace tools \(the chart's value rbac\.secretsInNamespaces\)/,
  );
  assert.match(readMessage(translate(resources)), /Secret tools\/web does not exist/);
  assert.match(readMessage(translate({ ...resources, unreadableSecretNamespaces: ['tools'] })), /cannot be read/);
  assert.match(readMessage(translate({ ...resources, unreadableSecretNamespaces: ['other'] })), /does not exist/);
});
