// What lives on across configuration changes, and what does not.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import { silentLog } from '../../../base/log.ts';
import { createSealer } from '../../../base/sealed.ts';
import { LoginFlow, McpAuthenticationSchema, RegistrationMode } from '../../../ir/gen/config_pb.ts';
import {
  AuthenticationError,
  type AuthenticationInput,
  AuthenticationRegistry,
} from './mcp-authentication-registry.ts';
import type { IdpConnection, IdpConnectionOptions } from '../../config/idp-connection.ts';
import { findPreset } from '../login/idp/presets.ts';
import { createMemoryStore } from '../../../store/memory-store.ts';
import type { Store } from '../../../store/store.ts';
import { arrangeKeys, createTestKey } from '../testing/issuer-fixture.ts';

interface OpenedConnection {
  readonly options: IdpConnectionOptions;
  closed: number;
}

function build(store?: Store): { registry: AuthenticationRegistry; opened: OpenedConnection[] } {
  const opened: OpenedConnection[] = [];
  const registry = new AuthenticationRegistry({
    connectIdp(options) {
      const connection: OpenedConnection = { options, closed: 0 };
      opened.push(connection);
      return { issuer: options.issuer, close: () => (connection.closed += 1) } as unknown as IdpConnection;
    },
    createSealer,
    findPreset,
    fetcher: {} as GuardedFetcher,
    log: silentLog,
    store,
  });
  return { registry, opened };
}

type Message = MessageInitShape<typeof McpAuthenticationSchema>;

function describeInput(message: Message = {}, rest: Partial<AuthenticationInput> = {}): AuthenticationInput {
  return {
    source: 'n/p',
    message: create(McpAuthenticationSchema, { issuer: 'https://idp.test', ...message }),
    ca: undefined,
    keyUrls: [],
    sealKeys: [],
    initialAccessToken: undefined,
    clientCredentialsSecret: undefined,
    sharedClientSecret: undefined,
    ...rest,
  };
}

describe('an authentication', () => {
  test('is the same object for the same input', () => {
    const { registry, opened } = build();
    const first = registry.acquire(describeInput());
    registry.reconcile([first]);
    assert.equal(registry.acquire(describeInput()), first);
    assert.equal(opened.length, 1);
  });

  const changes: readonly (readonly [string, Message, Partial<AuthenticationInput>])[] = [
    ['claims to headers', { claimsToHeaders: [{ claim: 'sub', header: 'x-user' }] }, {}],
    ['the resource', { resource: 'https://mcp.test/mcp' }, {}],
    ['required scopes', { requiredScopes: ['a'] }, {}],
    ['audiences', { audiences: ['a'] }, {}],
    ['limits of registration', { registration: { mode: RegistrationMode.FORWARD, perMinute: 7 } }, {}],
    ['a client secret', {}, { sharedClientSecret: 'new' }],
    ['an initial access token', {}, { initialAccessToken: 'new' }],
    ['seal keys', {}, { sealKeys: [new Uint8Array(32)] }],
    ['the policy’s own name', {}, { source: 'n/other' }],
  ];
  for (const [what, message, rest] of changes)
    test(`with ${what} changed is another one, on the connection that is open`, () => {
      const { registry, opened } = build();
      const before = registry.acquire(describeInput());
      registry.reconcile([before]);
      const after = registry.acquire(describeInput(message, rest));
      registry.reconcile([after]);
      assert.notEqual(after, before);
      assert.equal(after.idp, before.idp);
      assert.deepEqual(
        opened.map(({ closed }) => closed),
        [0],
      );
    });

  const moves: readonly (readonly [string, Message, Partial<AuthenticationInput>])[] = [
    ['the issuer', { issuer: 'https://other.test' }, {}],
    ['the metadata URL', { metadataUrl: 'https://idp.test/metadata' }, {}],
    ['the key URL', { keys: { source: { case: 'url', value: 'https://idp.test/keys' } } }, {}],
    ['inline keys', { keys: { source: { case: 'inline', value: '{"keys":[]}' } } }, {}],
    ['the CA', {}, { ca: 'PEM' }],
    ['the flow', { flow: LoginFlow.DIRECT }, {}],
    ['the provider', { provider: 'Keycloak' }, {}],
    ['required claims', { requiredClaims: [{ name: 'tenant', values: ['"a"'] }] }, {}],
    ['what is added to authorization requests', { extraScopes: ['openid'] }, {}],
  ];
  for (const [what, message, rest] of moves)
    test(`with ${what} changed has a new connection, and the old one is closed`, () => {
      const { registry, opened } = build();
      registry.reconcile([registry.acquire(describeInput())]);
      registry.reconcile([registry.acquire(describeInput(message, rest))]);
      assert.deepEqual(
        opened.map(({ closed }) => closed),
        [1, 0],
      );
    });

  test('that is gone closes its connection once, and comes back with a new one', () => {
    const { registry, opened } = build();
    const first = registry.acquire(describeInput());
    registry.reconcile([first]);
    registry.reconcile([]);
    registry.reconcile([]);
    assert.equal(opened[0]?.closed, 1);
    assert.notEqual(registry.acquire(describeInput()), first);
    registry.close();
    assert.deepEqual(
      opened.map(({ closed }) => closed),
      [1, 1],
    );
  });

  test('shares its connection with a policy that asks the same of the IdP', () => {
    const { registry, opened } = build();
    const one = registry.acquire(describeInput());
    const two = registry.acquire(describeInput({ requiredScopes: ['x'] }, { source: 'n/q' }));
    registry.reconcile([one, two]);
    assert.equal(one.idp, two.idp);
    assert.equal(opened[0]?.options.describeUsers(), 'n/p, n/q');
    registry.reconcile([two]);
    assert.equal(opened[0]?.closed, 0);
    assert.equal(opened[0]?.options.describeUsers(), 'n/q');
  });

  test('follows the endpoints of the Service that has the keys', () => {
    const { registry, opened } = build();
    const keys = { source: { case: 'backend', value: { backend: 'Service/n/idp/80', path: '/keys' } } } as const;
    registry.acquire(describeInput({ keys }, { keyUrls: ['http://10.0.0.1:80/keys'] }));
    const origin = opened[0]!.options.keys;
    assert.ok(origin.kind === 'endpoints');
    assert.deepEqual(origin.listUrls(), ['http://10.0.0.1:80/keys']);
    registry.acquire(describeInput({ keys }, { keyUrls: ['http://10.0.0.2:80/keys'] }));
    assert.deepEqual(origin.listUrls(), ['http://10.0.0.2:80/keys']);
    assert.equal(opened.length, 1);
  });

  test('knows the path of its configured resource in normal form', () => {
    const { registry } = build();
    const read = (resource: string): string | undefined => registry.acquire(describeInput({ resource })).resourcePath;
    assert.equal(read(''), undefined);
    assert.equal(read('https://mcp.test'), '');
    assert.equal(read('https://mcp.test/'), '');
    assert.equal(read('https://mcp.test/mcp/'), '/mcp');
    assert.equal(read('https://mcp.test/a/%7eb/../mcp'), '/a/mcp');
  });

  test('has a sealer when there are keys, and the same one for the same keys', () => {
    const { registry } = build();
    assert.equal(registry.acquire(describeInput()).sealer, undefined);
    const sealKeys = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const one = registry.acquire(describeInput({}, { sealKeys }));
    const two = registry.acquire(
      describeInput({ requiredScopes: ['x'] }, { sealKeys: sealKeys.map((key) => key.slice()) }),
    );
    assert.ok(one.sealer !== undefined && one.sealer === two.sealer);
  });

  test('tells its connection when it adds to authorization requests', () => {
    const { registry, opened } = build();
    registry.acquire(describeInput());
    registry.acquire(describeInput({ extraParameters: { a: 'b' } }));
    assert.deepEqual(
      opened.map(({ options }) => options.addsToRequests),
      [false, true],
    );
  });
});

describe('what cannot be enforced', () => {
  const inputs: readonly (readonly [string, AuthenticationInput])[] = [
    ['an unknown provider', describeInput({ provider: 'Nobody' })],
    ['an unknown flow', describeInput({ flow: 99 as LoginFlow })],
    ['an unknown registration', describeInput({ registration: { mode: 99 as RegistrationMode } })],
    ['a resource that is no URL', describeInput({ resource: 'mcp' })],
  ];
  for (const [what, input] of inputs)
    test(`${what} throws, and leaves no connection behind`, () => {
      const { registry, opened } = build();
      assert.throws(() => registry.acquire(input), AuthenticationError);
      registry.reconcile([]);
      assert.ok(opened.every(({ closed }) => closed === 1));
    });
});

describe('an authentication that issues tokens', () => {
  const issuing: Message = {
    flow: LoginFlow.ISSUER,
    identity: {},
    issuedTokens: { lifetimeMs: 60_000, scopes: [{ scopes: ['tickets'], when: 'jwt.email == "a"' }] },
    registration: { mode: RegistrationMode.SHARED, clientId: 'gateway' },
  };
  const sealKeys = [new Uint8Array(32)];

  test('judges tokens by the keys of the gateway, and is another one when they change', () => {
    const { registry, opened } = build();
    const [one, two] = [createTestKey(), createTestKey()];
    const acquire = (signingKeys: AuthenticationInput['signingKeys']) =>
      registry.acquire(describeInput(issuing, { signingKeys, sealKeys }));
    const before = acquire(arrangeKeys(one, two));
    assert.equal(acquire(arrangeKeys(one, two)), before);
    assert.equal(before.tokens.hasKeys, true);
    assert.deepEqual(before.issuer?.scopes, ['tickets']);
    assert.deepEqual([before.issuer?.lifetimeMs, before.issuer?.refreshLifetimeMs], [60_000, 0]);
    assert.notEqual(acquire(arrangeKeys(two, one)), before);
    assert.notEqual(acquire(arrangeKeys(one)), before);
    const without = acquire(undefined);
    assert.equal(without.tokens.hasKeys, false);
    assert.equal(without.issuer?.signingKeys, undefined);
    assert.equal(opened.length, 1, 'the connection to the identity provider stays');
  });

  test('of another flow does not depend on signing keys, and uses those of the identity provider', () => {
    const { registry } = build();
    const config = registry.acquire(describeInput());
    assert.equal(registry.acquire(describeInput({}, { signingKeys: arrangeKeys(createTestKey()) })), config);
    assert.equal(config.tokens, config.idp);
    assert.equal(config.issuer, undefined);
  });

  test('has sessions in a store only if it outlives the process, and there is a seal key', () => {
    for (const [reach, isStored] of [
      ['process', false],
      ['machine', true],
      ['shared', true],
    ] as const) {
      const { registry } = build({ ...createMemoryStore(), reach });
      assert.equal(registry.acquire(describeInput(issuing, { sealKeys })).issuer?.grants.isStored, isStored);
      assert.equal(registry.acquire(describeInput(issuing)).issuer?.grants.isStored, false);
    }
  });

  test('with a condition that is none cannot be acquired', () => {
    const { registry } = build();
    const issuedTokens = { lifetimeMs: 1, scopes: [{ scopes: ['a'], when: 'request.path' }] };
    assert.throws(() => registry.acquire(describeInput({ ...issuing, issuedTokens })), /tokens\.scopes\[0\]\.when/);
  });
});
