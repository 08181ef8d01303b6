// Parameters of the class and of the Gateway: what the later one says, what it forgets, and what it leaves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { parseResource } from '../api/parse-resource.ts';
import { mergeParameters } from './merge-parameters.ts';

function merge(...specs: readonly string[]): unknown {
  return mergeParameters(
    specs.map((yaml) => {
      const parsed = parseResource(
        {
          apiVersion: 'gateway.proxy/v1alpha1',
          kind: 'GatewayParameters',
          metadata: { name: 'a' },
          spec: parse(yaml) as unknown,
        },
        { origin: 'kubernetes' },
      );
      assert.ok(parsed.ok && parsed.kind === 'GatewayParameters', JSON.stringify(parsed));
      return parsed.resource;
    }),
  );
}

const digest = `sha256:${'0'.repeat(64)}`;

const cases: readonly (readonly [what: string, specs: readonly string[], merged: string])[] = [
  ['no parameters', [], '{}'],
  [
    'fields of both',
    ['{replicas: 2, workers: 1}', '{replicas: 3, logging: {level: warn}}'],
    '{replicas: 3, workers: 1, logging: {level: warn}}',
  ],
  [
    'maps by key',
    ['{podTemplate: {labels: {a: "1", b: "1"}}}', '{podTemplate: {labels: {b: "2"}}}'],
    '{podTemplate: {labels: {a: "1", b: "2"}}}',
  ],
  [
    'a stricter limit of staleness keeps what the class does about it',
    ['{maxStaleness: 5m, onStale: Close}', '{maxStaleness: 1m}'],
    '{maxStaleness: 1m, onStale: Close}',
  ],
  ['lists as a whole', ['{trustedProxies: [10.0.0.0/8]}', '{trustedProxies: []}'], '{trustedProxies: []}'],
  [
    'env as a whole',
    ['{env: [{name: A, value: "1"}]}', '{env: [{name: B, value: "1"}]}'],
    '{env: [{name: B, value: "1"}]}',
  ],
  [
    'null in a free-form object is kept, for the base to lose it',
    ['{podTemplate: {securityContext: {runAsUser: 1}}}', '{podTemplate: {securityContext: {runAsUser: null}}}'],
    '{podTemplate: {securityContext: {runAsUser: null}}}',
  ],
  [
    'a tag forgets a digest',
    [`{image: {registry: a.example, digest: "${digest}"}}`, '{image: {tag: v2}}'],
    '{image: {registry: a.example, tag: v2}}',
  ],
  [
    'a digest forgets a tag',
    ['{image: {tag: v1}}', `{image: {digest: "${digest}"}}`],
    `{image: {digest: "${digest}"}}`,
  ],
  [
    'another repository keeps the version',
    ['{image: {tag: v1}}', '{image: {repository: other}}'],
    '{image: {tag: v1, repository: other}}',
  ],
  [
    'ClusterIP forgets what only others have',
    ['{service: {externalTrafficPolicy: Local, loadBalancerClass: a.example/b}}', '{service: {type: ClusterIP}}'],
    '{service: {type: ClusterIP}}',
  ],
  [
    'NodePort keeps the policy',
    ['{service: {externalTrafficPolicy: Local, loadBalancerClass: a.example/b}}', '{service: {type: NodePort}}'],
    '{service: {type: NodePort, externalTrafficPolicy: Local}}',
  ],
];

for (const [what, specs, merged] of cases)
  test(what, () => assert.deepEqual(merge(...specs), { ...(parse(merged) as object), overlays: [] }));

test('overlays are kept one by one', () => {
  const merged = merge(
    '{overlays: {service: {a: 1}}}',
    '{replicas: 1}',
    '{overlays: {service: {b: 1}, deployment: {}}}',
  );
  assert.deepEqual(merged, { replicas: 1, overlays: [{ service: { a: 1 } }, { service: { b: 1 }, deployment: {} }] });
});
