// A policy message with what it refers to; whatever is missing closes the route.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../../../ir/configuration.ts';
import {
  AuthenticationMode, BackendSchema, JwtAuthenticationSchema, type JwtProviderSchema, ListenerProtocol, ListenerSchema, PolicySchema,
  PolicyTargetKind, RouteSchema, SecretSchema, UpstreamProtocol,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import { createCertificate } from '../../../../test/self-signed-certificate.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { JwtAuthenticationInput } from '../../authentication/jwt/jwt-authentication-registry.ts';
import { compile } from './compile.ts';
import type { RouteConfig, RuntimeConfig } from '../runtime-config.ts';

type Message = MessageInitShape<typeof JwtAuthenticationSchema>;
type Provider = MessageInitShape<typeof JwtProviderSchema>;

interface Setup {
  readonly message?: Message;
  readonly secrets?: readonly MessageInitShape<typeof SecretSchema>[];
  readonly protocol?: UpstreamProtocol;
  readonly kind?: PolicyTargetKind;
  readonly acquires?: boolean;
  readonly throws?: string;
}

const keys: Provider['keys'] = { cacheDurationMs: 300_000, source: { case: 'url', value: 'https://idp.test/keys' } };
const provider: Provider = { name: 'a', issuer: 'https://idp.test', keys };
const service: Provider['keys'] = {
  cacheDurationMs: 300_000,
  source: { case: 'backend', value: { backend: 'Service/n/idp/80', path: '/keys' } },
};

const shortKey = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });

function inlineKeys(...list: object[]): Provider['keys'] {
  return { cacheDurationMs: 300_000, source: { case: 'inline', value: JSON.stringify({ keys: list }) } };
}

function build(setup: Setup): {
  readonly inputs: JwtAuthenticationInput[];
  readonly route: RouteConfig;
  readonly problems: readonly string[];
  readonly runtime: RuntimeConfig;
} {
  const inputs: JwtAuthenticationInput[] = [];
  const acquire = (input: JwtAuthenticationInput): JwtAuthenticationConfig => {
    if (setup.throws !== undefined) throw new Error(setup.throws);
    inputs.push(input);
    return { source: input.source, message: input.message } as JwtAuthenticationConfig;
  };
  const upstream = {
    endpoints: [{ host: '10.0.0.1', port: 8080 }],
    protocol: setup.protocol ?? UpstreamProtocol.HTTP1,
  };
  const { runtime, problems } = compile(
    {
      ...emptyConfiguration,
      listeners: [create(ListenerSchema, { key: 'n/g/l', gateway: 'n/g', name: 'l', port: 80, protocol: ListenerProtocol.HTTP })],
      routes: [create(RouteSchema, { key: 'n/r/0', httpRoute: 'n/r', parents: [{ listener: 'n/g/l' }] })],
      backends: [create(BackendSchema, { key: 'Service/n/idp/80', kind: { case: 'http', value: upstream } })],
      policies: [
        create(PolicySchema, {
          key: 'n/p/traffic.jwtAuthentication/HTTPRoute/r',
          source: 'n/p',
          target: { kind: setup.kind ?? PolicyTargetKind.HTTP_ROUTE, namespace: 'n', name: 'r' },
          spec: {
            case: 'jwtAuthentication',
            value: create(JwtAuthenticationSchema, { providers: [provider], ...setup.message }),
          },
        }),
      ],
      secrets: (setup.secrets ?? []).map((secret) => create(SecretSchema, secret)),
    },
    undefined,
    { acquireJwtAuthentication: setup.acquires === false ? undefined : acquire },
  ); // prettier-ignore
  const [, table] = runtime.ports.get('|80')!.listeners.any!.routes.entries()[0]!;
  return {
    inputs,
    route: table.entries[0]!.route,
    problems: problems.map(({ message }) => message),
    runtime,
  };
}

test('a policy gets its trust anchors and the endpoints of its keys, for each provider', () => {
  const { cert } = createCertificate({ names: ['idp.test'] });
  const { inputs, route, problems, runtime } = build({
    message: {
      providers: [
        { ...provider, ca: 'ConfigMap/n/ca/ca.crt' },
        { name: 'b', issuer: 'b', keys: service },
      ],
    },
    secrets: [{ key: 'ConfigMap/n/ca/ca.crt', value: { case: 'caCertificates', value: cert } }],
  });
  assert.deepEqual(problems, []);
  assert.equal(inputs[0]?.source, 'n/p');
  assert.deepEqual([...inputs[0].providers], [
    ['a', { ca: cert, keyUrls: [] }],
    ['b', { ca: undefined, keyUrls: ['http://10.0.0.1:8080/keys'] }],
  ]); // prettier-ignore
  assert.equal(route.policies['traffic.jwtAuthentication']?.source, 'n/p');
  assert.deepEqual(runtime.jwtAuthentications, [route.policies['traffic.jwtAuthentication']]);
});

test('one usable key among those of a policy is enough', () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const keySet = inlineKeys(shortKey, publicKey.export({ format: 'jwk' }));
  const { route, problems } = build({ message: { providers: [{ ...provider, keys: keySet }] } });
  assert.deepEqual(problems, []);
  assert.equal(route.policies.failure, undefined);
});

describe('closes the route, and says why:', () => {
  const cases: readonly (readonly [string, Setup, RegExp])[] = [
    ['no provider', { message: { providers: [] } }, /names no provider/],
    ['a provider without an issuer', { message: { providers: [{ ...provider, issuer: '' }] } }, /"a" names no issuer/],
    ['two providers with one issuer', { message: { providers: [provider, { ...provider, name: 'b' }] } }, /two providers have the issuer "https:\/\/idp.test"/],
    ['two providers with one name', { message: { providers: [provider, { ...provider, issuer: 'b' }] } }, /two providers have the name "a"/],
    ['a CA that is missing', { message: { providers: [{ ...provider, ca: 'c' }] } }, /CA certificates c are missing/],
    ['keys from a backend that is not there', { message: { providers: [{ ...provider, keys: { cacheDurationMs: 300_000, source: { case: 'backend', value: { backend: 'x' } } } }] } }, /backend x that serves the keys cannot be used/],
    ['keys from an h2c backend', { message: { providers: [{ ...provider, keys: service }] }, protocol: UpstreamProtocol.H2C }, /HTTP\/1.1/],
    ['inline keys of which none is usable', { message: { providers: [provider, { name: 'b', issuer: 'b', keys: inlineKeys({ kty: 'EC', crv: 'secp256k1', kid: 'odd' }, { kty: 'RSA', use: 'enc' }) }] } }, /^the provider "b": the inline key set has no key that verifies signatures: key odd is on a curve that is not accepted; 1 more are not used either$/],
    ['inline keys that are too short', { message: { providers: [{ ...provider, keys: inlineKeys(shortKey) }] } }, /^the provider "a": the inline key set .*: key 0 is too short: 1024 bits, at least 2048 are needed$/],
    ['a mode that is not known', { message: { mode: 99 as AuthenticationMode } }, /mode 99 is not known/],
    ['a claim for a header that cannot be', { message: { claimsToHeaders: [{ claim: 'a', header: 'x y' }] } }, /"x y" cannot be the name of a header/],
    ['a token in a header that cannot be', { message: { location: { location: { case: 'header', value: { name: '' } } } } }, /"" cannot be the name of a header/],
    ['a process that does not authenticate', { acquires: false }, /cannot enforce authentication/],
    ['a registry that refuses', { throws: 'the provider names no keys' }, /names no keys/],
  ]; // prettier-ignore
  for (const [what, setup, message] of cases)
    test(what, () => {
      const { route, problems, runtime } = build(setup);
      assert.match(problems.join(), message);
      assert.equal(route.policies['traffic.jwtAuthentication'], undefined);
      assert.equal(route.policies.failure?.source, 'n/p');
      assert.match(route.policies.failure.failure.message, message);
      assert.deepEqual(runtime.jwtAuthentications, []);
    });

  test('a target that is neither a Gateway nor an HTTPRoute', () => {
    const { problems } = build({ kind: PolicyTargetKind.PROXY_BACKEND });
    assert.match(problems.join(), /JWT authentication can protect a Gateway or an HTTPRoute only/);
  });
});
