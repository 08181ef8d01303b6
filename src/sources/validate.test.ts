import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatIdentity } from './resource-source.ts';
import { validateResource } from './validate.ts';

const identify = (raw: unknown): string => formatIdentity(validateResource(raw, 'file').identity);

describe('validateResource', () => {
  test('gives a good resource with its identity; the namespace defaults, or is empty for kinds without one', () => {
    const namespace = validateResource({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }, 'file');
    assert.ok(namespace.ok);
    assert.equal(formatIdentity(namespace.identity), 'Namespace//team');
    assert.equal(identify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }), 'ConfigMap/default/a');
  });

  const metadata = { name: 'p', namespace: 'n' };
  const guesses: readonly [what: string, raw: unknown, identity: string][] = [
    ['a bad spec', { apiVersion: 'gateway.proxy/v1alpha1', kind: 'ProxyPolicy', metadata }, 'ProxyPolicy/n/p'],
    ['a slip in the kind', { apiVersion: 'gateway.proxy/v1alpha1', kind: 'proxypolicy', metadata }, 'ProxyPolicy/n/p'],
    [
      'an unknown kind of our own group',
      { apiVersion: 'gateway.proxy/v1', kind: 'Guard', metadata },
      'ProxyPolicy/n/p',
    ],
    [
      'an unknown kind with targets',
      { apiVersion: 'x/v1', kind: 'Guard', metadata, spec: { targetRefs: [] } },
      'ProxyPolicy/n/p',
    ],
    ['no kind, with targets', { metadata, spec: { targetSelectors: 1 } }, 'ProxyPolicy/n/p'],
    ['no kind', { metadata }, '/n/p'],
    ['a kind of others', { apiVersion: 'apps/v1', kind: 'Deployment', metadata }, 'Deployment/n/p'],
    [
      'a kind that is not supported yet',
      { apiVersion: 'gateway.proxy/v1alpha1', kind: 'GatewayParameters', metadata },
      'GatewayParameters/n/p',
    ],
    ['a kind without namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata, x: 1 }, 'Namespace//p'],
    ['no name', { apiVersion: 'v1', kind: 'Secret' }, 'Secret/default/'],
    ['no mapping', ['x'], '/default/'],
  ];
  for (const [what, raw, identity] of guesses) {
    test(`guesses what a resource with ${what} was meant to be`, () => {
      const result = validateResource(raw, 'file');
      assert.ok(!result.ok);
      assert.equal(formatIdentity(result.identity), identity);
      assert.ok(result.problems.length > 0);
    });
  }

  test('a kind of an extension that is off: one problem that names the switch, whatever the rest says', () => {
    for (const [kind, apiVersion] of [
      ['InferencePool', 'inference.networking.k8s.io/v1'],
      ['InferencePool', 'inference.networking.k8s.io/v9'],
      ['Pod', 'v1'],
    ]) {
      const result = validateResource({ apiVersion, kind, metadata, spec: 7 }, 'file', []);
      assert.ok(!result.ok);
      assert.equal(formatIdentity(result.identity), `${kind}/n/p`);
      assert.deepEqual(result.problems, [
        {
          path: ['kind'],
          code: 'invalid',
          message: `${kind}s are only read with the Inference Extension: start with --inference-extension`,
        },
      ]);
    }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: 7 };
    assert.ok(validateResource(pod, 'file', ['inference']).ok);
    assert.ok(validateResource(pod, 'kubernetes').ok);
    assert.ok(validateResource({ apiVersion: 'v1', kind: 'ConfigMap', metadata }, 'file', []).ok);
  });

  test('hands on the targets of a bad policy, and nothing of what may be a Secret', () => {
    const policy = validateResource({ kind: 'ProxyPolicy', metadata, spec: { targetRefs: [{ name: 'x' }] } }, 'file');
    assert.deepEqual(policy.ok ? undefined : policy.raw, {
      kind: 'ProxyPolicy',
      metadata,
      spec: { targetRefs: [{ name: 'x' }] },
    });
    for (const kind of ['Secret', 'Secrt', undefined, 'Unheard']) {
      const result = validateResource({ kind, metadata, data: { a: 'hunter2' }, stringData: { a: 'hunter2' } }, 'file');
      assert.doesNotMatch(JSON.stringify(result), /hunter2/);
    }
  });

  test('never throws, and never shows a value of a Secret', () => {
    const value = fc.oneof(
      fc.constant('hunter2'),
      fc.constant(['hunter2']),
      fc.constant({ a: 'hunter2' }),
      fc.constant(null),
      fc.integer(),
    );
    const member = fc.constantFrom('data', 'stringData', 'type', 'immutable', 'spec', 'metadata', 'extra');
    fc.assert(
      fc.property(
        fc.dictionary(member, fc.oneof(value, fc.dictionary(fc.constantFrom('token', 'to ken', 'name'), value))),
        (fields) => {
          const result = validateResource({ apiVersion: 'v1', kind: 'Secret', ...fields }, 'file');
          if (result.ok) return;
          assert.doesNotMatch(JSON.stringify(result.problems), /hunter2/);
        },
      ),
    );
    fc.assert(fc.property(fc.anything(), (raw) => void validateResource(raw, 'file')));
  });
});
