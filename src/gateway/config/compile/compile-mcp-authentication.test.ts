// A policy message with what it refers to; whatever is missing closes the backend.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../../../ir/configuration.ts';
import {
  AuthenticationMode, BackendSchema, ListenerProtocol, ListenerSchema, LoginFlow, McpAuthenticationSchema, PathMatchType, PolicySchema, PolicyTargetKind,
  RegistrationMode, RouteSchema, SecretSchema, UpstreamProtocol,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import { createSigningKey } from '../../../base/signing-key.ts';
import { sealKeysKey, signingKeysKey } from '../../../ir/resource-keys.ts';
import { findUsableBackend } from '../../policies/fail-closed.ts';
import type { AuthenticationInput } from '../../authentication/mcp/mcp-authentication-registry.ts';
import type { McpAuthenticationConfig } from '../protected-resource.ts';
import { compile } from './compile.ts';
import type { RuntimeConfig, WeightedBackendConfig } from '../runtime-config.ts';

type Message = MessageInitShape<typeof McpAuthenticationSchema>;
type SecretMessage = MessageInitShape<typeof SecretSchema>;

interface Setup {
  readonly message?: Message;
  readonly secrets?: readonly SecretMessage[];
  readonly target?: { readonly kind: PolicyTargetKind; readonly name: string };
  readonly protocol?: UpstreamProtocol;
  readonly acquires?: boolean;
  readonly throws?: string;
}

interface Built {
  readonly inputs: AuthenticationInput[];
  readonly choice: WeightedBackendConfig;
  readonly problems: readonly string[];
  readonly runtime: RuntimeConfig;
}

function build(setup: Setup): Built {
  const inputs: AuthenticationInput[] = [];
  const acquire = (input: AuthenticationInput): McpAuthenticationConfig => {
    if (setup.throws !== undefined) throw new Error(setup.throws);
    inputs.push(input);
    return { source: input.source, message: input.message, resourcePath: undefined } as McpAuthenticationConfig;
  };
  const upstream = {
    endpoints: [{ host: '10.0.0.1', port: 8080 }, { host: 'fd00::1', port: 8080 }],
    protocol: setup.protocol ?? UpstreamProtocol.HTTP1,
  }; // prettier-ignore
  const { runtime, problems } = compile(
    {
      ...emptyConfiguration,
      listeners: [create(ListenerSchema, { key: 'n/g/l', gateway: 'n/g', name: 'l', port: 80, protocol: ListenerProtocol.HTTP })],
      routes: [
        create(RouteSchema, {
          key: 'n/r/0',
          httpRoute: 'n/r',
          parents: [{ listener: 'n/g/l' }],
          matches: [{ path: { type: PathMatchType.PREFIX, value: '/mcp' } }],
          backends: [{ backend: 'ProxyBackend/n/a', weight: 1 }],
        }),
      ],
      backends: [
        create(BackendSchema, {
          key: 'ProxyBackend/n/a',
          kind: { case: 'mcp', value: { targets: [{ upstream: { endpoints: [{ host: 'h', port: 1 }] } }] } },
        }),
        create(BackendSchema, { key: 'Service/n/idp/80', kind: { case: 'http', value: upstream } }),
      ],
      policies: [
        create(PolicySchema, {
          key: 'n/p/backend.mcp.authentication/ProxyBackend/a',
          source: 'n/p',
          target: { namespace: 'n', ...(setup.target ?? { kind: PolicyTargetKind.PROXY_BACKEND, name: 'a' }) },
          spec: {
            case: 'mcpAuthentication',
            value: create(McpAuthenticationSchema, {
              issuer: 'https://idp.test',
              ...setup.message,
              keys: { cacheDurationMs: 300_000, ...setup.message?.keys },
              registration: { perMinute: 60, maxBodyBytes: 65_536, ...setup.message?.registration },
            } as Message),
          },
        }),
      ],
      secrets: (setup.secrets ?? []).map((secret) => create(SecretSchema, secret)),
    },
    undefined,
    { acquireAuthentication: setup.acquires === false ? undefined : acquire },
  ); // prettier-ignore
  const [, table] = runtime.ports.get('|80')!.listeners.any!.routes.entries()[0]!;
  return {
    inputs,
    choice: table.entries[0]!.route.backends.entries[0]!,
    problems: problems.map(({ message }) => message),
    runtime,
  };
}

const text = (key: string, value: string): SecretMessage => ({ key, value: { case: 'text', value } });

test('a policy gets the values of its secrets, the endpoints of its keys and the seal keys', () => {
  const seal = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const { inputs, choice, problems, runtime } = build({
    message: {
      resource: 'https://mcp.test/mcp',
      keys: { source: { case: 'backend', value: { backend: 'Service/n/idp/80', path: '/keys' } } },
      registration: {
        initialAccessToken: 'Secret/n/s/token',
        initialAccessTokenFrom: { clientId: 'r', clientSecret: 'Secret/n/s/registrar' },
        clientSecret: 'Secret/n/s/client',
      },
    },
    secrets: [
      text('Secret/n/s/token', 'one'),
      text('Secret/n/s/registrar', 'two'),
      text('Secret/n/s/client', 'three'),
      { key: sealKeysKey, value: { case: 'sealKeys', value: { keys: seal } } },
    ],
  });
  assert.deepEqual(problems, []);
  const [input] = inputs;
  assert.equal(input?.source, 'n/p');
  assert.equal(input.initialAccessToken, 'one');
  assert.equal(input.clientCredentialsSecret, 'two');
  assert.equal(input.sharedClientSecret, 'three');
  assert.deepEqual(input.sealKeys, seal);
  assert.deepEqual(input.keyUrls, ['http://10.0.0.1:8080/keys', 'http://[fd00::1]:8080/keys']);
  assert.equal(choice.policies.failure, undefined);
  assert.equal(choice.policies['backend.mcp.authentication']?.source, 'n/p');
  assert.deepEqual(runtime.authentications, [choice.policies['backend.mcp.authentication']]);
});

describe('closes the backend, and says why:', () => {
  const cases: readonly (readonly [string, Setup, RegExp])[] = [
    ['a secret that is missing', { message: { registration: { clientSecret: 'Secret/n/s/x' } } }, /secret Secret\/n\/s\/x is missing/],
    ['a secret that is empty', { message: { registration: { clientSecret: 'Secret/n/s/x' } }, secrets: [text('Secret/n/s/x', '')] }, /is missing/],
    ['a CA that is missing', { message: { ca: 'ConfigMap/n/ca/ca.crt' } }, /CA certificates .* are missing/],
    ['a CA that is none', { message: { ca: 'c' }, secrets: [{ key: 'c', value: { case: 'caCertificates', value: 'x' } }] }, /holds no CA certificate/],
    ['keys from a backend that is not there', { message: { keys: { source: { case: 'backend', value: { backend: 'Service/n/x/80' } } } } }, /cannot be used/],
    ['keys from an h2c backend', { message: { keys: { source: { case: 'backend', value: { backend: 'Service/n/idp/80' } } } }, protocol: UpstreamProtocol.H2C }, /HTTP\/1.1/],
    ['inline keys of which none is usable', { message: { keys: { source: { case: 'inline', value: '{"keys":[{"kty":"OKP","crv":"X25519"}]}' } } } }, /the inline key set has no key that verifies signatures: key 0 is on a curve that is not accepted$/],
    ['keys of which nobody says how long they are used', { message: { keys: { cacheDurationMs: 0 } } }, /no cache duration for keys/],
    ['no limit of registrations', { message: { registration: { perMinute: 0 } } }, /no limits for registration/],
    ['no limit of the size of a registration', { message: { registration: { maxBodyBytes: 0 } } }, /no limits for registration/],
    ['no issuer', { message: { issuer: '' } }, /no issuer/],
    ['a mode that is not known', { message: { mode: 99 as AuthenticationMode } }, /mode 99 is not known/],
    ['a process that does not authenticate', { acquires: false }, /cannot enforce authentication/],
    ['a registry that refuses', { throws: 'the provider is not known' }, /the provider is not known/],
  ]; // prettier-ignore
  for (const [what, setup, message] of cases)
    test(what, () => {
      const { choice, problems, runtime } = build(setup);
      assert.match(problems.join(), message);
      assert.equal(choice.policies['backend.mcp.authentication'], undefined);
      const usable = findUsableBackend(choice, runtime.backends);
      assert.ok(!usable.ok);
      const { denial } = usable;
      assert.ok(denial.reason === 'policy_invalid' && denial.status === 500);
      assert.match(denial.detail, message);
      assert.deepEqual(runtime.authentications, []);
    });

  test('a target that is no ProxyBackend', () => {
    const { problems, runtime } = build({ target: { kind: PolicyTargetKind.HTTP_ROUTE, name: 'r' } });
    assert.match(problems.join(), /can protect a ProxyBackend only/);
    const [, table] = runtime.ports.get('|80')!.listeners.any!.routes.entries()[0]!;
    assert.equal(table.entries[0]?.route.policies.failure?.source, 'n/p');
  });
});

describe('a policy whose tokens the gateway issues', () => {
  const issuing: Message = {
    flow: LoginFlow.ISSUER,
    identity: {},
    issuedTokens: { lifetimeMs: 60_000 },
    registration: { mode: RegistrationMode.SHARED, clientId: 'gateway' },
  };

  test('gets the signing keys; others do not', () => {
    const { kid, privateKey } = createSigningKey();
    const secrets: SecretMessage[] = [
      { key: signingKeysKey, value: { case: 'signingKeys', value: { keys: [{ kid, privateKey }], active: kid } } },
    ];
    assert.equal(build({ message: issuing, secrets }).inputs[0]?.signingKeys?.active?.kid, kid);
    assert.equal(build({ message: issuing }).inputs[0]?.signingKeys, undefined);
    assert.equal(build({ secrets }).inputs[0]?.signingKeys, undefined);
  });

  const wrong: readonly (readonly [string, Message, RegExp])[] = [
    ['no identity', { ...issuing, identity: undefined! }, /needs identity and tokens/],
    ['no tokens', { ...issuing, issuedTokens: undefined! }, /needs identity and tokens/],
    ['no lifetime', { ...issuing, issuedTokens: {} }, /lifetime/],
    ['another registration', { ...issuing, registration: { mode: RegistrationMode.FORWARD } }, /Shared/],
    ['audiences', { ...issuing, audiences: ['a'] }, /audiences/],
    ['tokens and another flow', { issuedTokens: { lifetimeMs: 1 } }, /need the flow Issuer/],
    ['identity and another flow', { identity: {} }, /need the flow Issuer/],
    ['endpoints and another flow', { endpoints: { token: 'https://x' } }, /need the flow Issuer/],
  ];
  for (const [what, message, problem] of wrong)
    test(`with ${what} is closed`, () => {
      const { inputs, problems } = build({ message });
      assert.equal(inputs.length, 0);
      assert.match(problems.join(), problem);
    });
});
