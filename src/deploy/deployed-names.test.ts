// Names: fit for what they name, the same every time, and different for different Gateways.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { labelValueSchema, serviceNameSchema, subdomainNameSchema } from '../api/kubernetes-names.ts';
import { formatLabelValue, labelDeployed, nameDeployed, nameSealKeySecret, selectPods } from './deployed-names.ts';
import { makeGateway } from './testdata/read-plan.ts';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?$/);
const subdomain = fc.array(label, { minLength: 1, maxLength: 4 }).map((parts) =>
  parts
    .join('.')
    .slice(0, 253)
    .replace(/[^a-z0-9]+$/, 'z'),
);

describe('names', () => {
  test('a short one is what it says', () => {
    assert.equal(nameDeployed('web', 'proxy'), 'web-proxy');
    assert.equal(nameDeployed('a'.repeat(57), 'proxy').length, 63);
  });

  test('a long one, one with dots and one with a digit in front are made fit', () => {
    assert.match(nameDeployed('a'.repeat(58), 'proxy'), /^a{52}-[0-9a-f]{10}$/);
    assert.match(nameDeployed('web.example', 'proxy'), /^web-example-proxy-[0-9a-f]{10}$/);
    assert.match(nameDeployed('1st', 'proxy'), /^g1st-proxy-[0-9a-f]{10}$/);
    assert.notEqual(nameDeployed('web.example', 'proxy'), nameDeployed('web-example', 'proxy'));
  });

  test('every one is a name of a Service, and two Gateways of a class never share one', () => {
    fc.assert(
      fc.property(subdomain, subdomain, subdomain, (one, other, className) => {
        const name = nameDeployed(one, className);
        assert.equal(serviceNameSchema.safeParse(name).error, undefined, name);
        assert.equal(nameDeployed(one, className), name);
        if (one !== other) assert.notEqual(nameDeployed(other, className), name);
      }),
    );
  });

  test('every value of a label is one, and different names have different ones', () => {
    fc.assert(
      fc.property(subdomain, subdomain, (one, other) => {
        const value = formatLabelValue(one);
        assert.equal(labelValueSchema.safeParse(value).error, undefined, value);
        if (one.length <= 63) assert.equal(value, one);
        if (one !== other) assert.notEqual(formatLabelValue(other), value);
      }),
    );
  });

  test('Secrets with seal keys', () => {
    fc.assert(
      fc.property(label, subdomain, (namespace, name) => {
        const secret = nameSealKeySecret(namespace, name);
        assert.equal(subdomainNameSchema.safeParse(secret).error, undefined, secret);
        assert.match(secret, /^proxy-seal-[0-9a-f]{32}$/);
      }),
    );
    // A slash is in no name: the two halves cannot be cut elsewhere.
    assert.notEqual(nameSealKeySecret('a', 'b-c'), nameSealKeySecret('a-b', 'c'));
  });
});

test('labels', () => {
  const gateway = makeGateway('web');
  assert.deepEqual(selectPods(gateway), {
    'gateway.networking.k8s.io/gateway-name': 'web',
    'gateway.networking.k8s.io/gateway-class-name': 'proxy',
  });
  assert.deepEqual(labelDeployed(gateway), {
    ...selectPods(gateway),
    'app.kubernetes.io/managed-by': 'gateway.proxy-controller',
  });
});
