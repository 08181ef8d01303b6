import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePolicy, findRuleVariant, ruleVariants } from './demo-rules.ts';
import { demoUsers } from './demo-users.ts';

test('the resource is what its text says', () => {
  for (const variant of ruleVariants) {
    const { yaml, resource } = describePolicy(variant, 'sample');
    assert.deepEqual(resource, {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: 'sample-tools' },
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'sample' }],
        backend: {
          mcp: {
            authorization: {
              action: 'Allow',
              policy: { matchExpressions: variant.rules.map(({ expression }) => expression) },
            },
          },
        },
      },
    });
    variant.rules.forEach(({ meaning }, index) => assert.ok(yaml.includes(`# ${index + 1}. ${meaning}\n`)));
  }
});

test('every variant explains the list of every user', () => {
  for (const variant of ruleVariants)
    assert.deepEqual(
      Object.keys(variant.why),
      demoUsers.map(({ id }) => id),
    );
});

test('only prepared variants are found', () => {
  for (const variant of ruleVariants) assert.equal(findRuleVariant(variant.id), variant);
  for (const id of ['', 'other', undefined, null, 1, {}]) assert.equal(findRuleVariant(id), undefined);
});
