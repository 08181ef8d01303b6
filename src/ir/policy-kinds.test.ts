import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { listFields } from '../api/field-tree.ts';
import { proxyPolicySchema } from '../api/proxy-policy.ts';
import { type Policy, PolicySchema, type PolicyTargetKind, PolicyTargetKindSchema } from './gen/config_pb.ts';
import {
  allPolicyKinds,
  backendPolicyKinds,
  findPolicyContent,
  findPolicyKind,
  isPolicyKind,
  type PolicyKind,
  policyKinds,
  policyTargetNames,
  routePolicyKinds,
} from './policy-kinds.ts';

/** A valid field of each kind. */
const samples: Readonly<Record<PolicyKind, unknown>> = {
  'traffic.publicAccess': true,
  'traffic.cors': { allowOrigins: ['https://app.test'] },
  'traffic.jwtAuthentication': {
    providers: [{ name: 'corp', issuer: 'https://idp.test', jwks: { url: 'https://idp.test/jwks' } }],
  },
  'backend.mcp.authentication': { issuer: 'https://idp.test' },
  'traffic.authorization': { policy: { matchExpressions: ['true'] } },
  'backend.mcp.authorization': { policy: { matchExpressions: ['true'] } },
};

function nest(path: string, value: unknown): object {
  return path.split('.').reduceRight((inner: unknown, name) => ({ [name]: inner }), value) as object;
}

function parsePolicy(kind: PolicyKind, target: string): readonly string[] {
  const group = target === 'ProxyBackend' ? 'gateway.proxy' : 'gateway.networking.k8s.io';
  const parsed = proxyPolicySchema.safeParse({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'p', namespace: 'n' },
    spec: { targetRefs: [{ group, kind: target, name: 'x' }], ...nest(kind, samples[kind]) },
  });
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
}

describe('the table', () => {
  test('has a row for every field of a ProxyPolicy, and for nothing else', () => {
    const spec = listFields(proxyPolicySchema).find('spec');
    const listPaths = (...path: string[]): string[] => {
      const node = path.reduce((found: typeof spec, name) => found?.find(name), spec);
      return (node?.names ?? []).map((name) => [...path, name].join('.'));
    };
    const fields = [...listPaths('traffic'), ...listPaths('backend').flatMap((path) => listPaths(...path.split('.')))];
    assert.deepEqual(fields.toSorted(), allPolicyKinds.toSorted());
  });

  test('has a row for every case of a message but failure', () => {
    const cases = PolicySchema.oneofs.flatMap(({ fields }) => fields.map(({ localName }) => localName));
    const named = allPolicyKinds.map((kind) => policyKinds[kind].messageCase as string);
    assert.deepEqual([...named, 'failure'].toSorted(), cases.toSorted());
    assert.equal(new Set(named).size, named.length);
  });

  test('allows the targets that the schema of a ProxyPolicy allows', () => {
    for (const kind of allPolicyKinds) {
      const { targets } = policyKinds[kind];
      for (const target of ['Gateway', 'HTTPRoute', 'ProxyBackend']) {
        const problems = parsePolicy(kind, target);
        if (targets.some((each) => each === target)) assert.deepEqual(problems, [], `${kind} on ${target}`);
        else assert.match(problems.join(), /can only target/, `${kind} on ${target}`);
      }
    }
  });

  test('has every kind either for routes or for backends', () => {
    assert.deepEqual([...routePolicyKinds, ...backendPolicyKinds].toSorted(), allPolicyKinds.toSorted());
  });

  test('names every kind of target', () => {
    const numbers = PolicyTargetKindSchema.values.map(({ number }) => number).filter((number) => number !== 0);
    assert.deepEqual(
      numbers.filter((number) => !policyTargetNames.has(number as PolicyTargetKind)),
      [],
    );
  });
});

describe('a message', () => {
  test('is of the kind of its case', () => {
    for (const kind of allPolicyKinds) {
      const spec = { case: policyKinds[kind].messageCase, value: {} } as Policy['spec'];
      const policy = create(PolicySchema, { spec });
      assert.equal(findPolicyKind(policy), kind);
      assert.deepEqual(findPolicyContent(policy), { kind, message: policy.spec.value });
    }
  });

  test('that closes its target, or is empty, is of none', () => {
    const closing = create(PolicySchema, { spec: { case: 'failure', value: { status: 500 } } });
    assert.equal(findPolicyContent(closing), undefined);
    assert.equal(findPolicyContent(create(PolicySchema)), undefined);
  });
});

test('a name of something else is no kind', () => {
  for (const name of ['', 'cors', 'closed', 'constructor', '__proto__', 'traffic'])
    assert.equal(isPolicyKind(name), false);
});
