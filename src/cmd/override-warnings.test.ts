import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFixedSource } from '../sources/fixed-source.ts';
import { translate } from '../translate/translate.ts';
import { listOverrideWarnings } from './override-warnings.ts';

const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] },
};
const policy = (name: string, sectionName: string | undefined, spec: object): object => ({
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [
      {
        group: 'gateway.networking.k8s.io',
        kind: 'Gateway',
        name: 'edge',
        ...(sectionName !== undefined && { sectionName }),
      },
    ],
    ...spec,
  },
});
const authorization = (expression: string): object => ({
  authorization: { action: 'Require', policy: { matchExpressions: [expression] } },
});
const jwt = {
  jwtAuthentication: {
    providers: [{ name: 'a', issuer: 'https://idp.example.com', jwks: { url: 'https://idp.example.com/jwks' } }],
  },
};
const rules = (expression: string, sectionName?: string, enforcement = 'Override'): object =>
  policy('rules', sectionName, { enforcement, traffic: authorization(expression) });
const listWarned = (...policies: readonly object[]): readonly string[] =>
  listOverrideWarnings(translate(createFixedSource([gateway, ...policies]).resources.get()).configuration).map(
    ({ policy: warned }) => warned,
  );

describe('an Override with rules over claims', () => {
  test('needs JWT authentication of its level or above', () => {
    assert.deepEqual(listWarned(rules('"staff" in jwt.groups')), ['default/rules']);
    assert.deepEqual(listWarned(rules('jwt.staff == true', 'http')), ['default/rules']);
    assert.deepEqual(listWarned(rules('jwt.staff == true'), policy('jwt', 'http', { traffic: jwt })), [
      'default/rules',
    ]);
  });

  test('is not warned of with it', () => {
    const whole = policy('jwt', undefined, { traffic: jwt });
    assert.deepEqual(listWarned(rules('jwt.staff == true'), whole), []);
    assert.deepEqual(listWarned(rules('jwt.staff == true', 'http'), whole), []);
    const both = policy('both', undefined, {
      enforcement: 'Override',
      traffic: { ...jwt, ...authorization('jwt.staff') },
    });
    assert.deepEqual(listWarned(both), []);
  });

  test('is not warned of where it reads no claims, or is a Default', () => {
    assert.deepEqual(listWarned(rules('request.method == "GET"')), []);
    assert.deepEqual(listWarned(rules('jwt.staff == true', undefined, 'Default')), []);
  });
});
