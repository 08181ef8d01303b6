// What lives on across configuration changes, what is shared, and what is closed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import { silentLog } from '../../../base/log.ts';
import { JwtAuthenticationSchema, type JwtProviderSchema } from '../../../ir/gen/config_pb.ts';
import type { KeyOrigin } from '../token/key-origin.ts';
import type { KeySource } from '../token/key-source.ts';
import type { KeyFetching, LocatedKeys } from '../token/open-key-source.ts';
import {
  type JwtAuthenticationInput,
  JwtAuthenticationRegistry,
  type JwtProviderInput,
} from './jwt-authentication-registry.ts';

interface OpenedSource {
  readonly origin: KeyOrigin | LocatedKeys;
  readonly fetching: KeyFetching;
  closed: number;
  hasKeys: boolean;
}

function build(): { registry: JwtAuthenticationRegistry; opened: OpenedSource[] } {
  const opened: OpenedSource[] = [];
  const registry = new JwtAuthenticationRegistry({
    fetcher: {} as GuardedFetcher,
    log: silentLog,
    openKeySource(origin, fetching) {
      const source: OpenedSource = { origin, fetching, closed: 0, hasKeys: false };
      opened.push(source);
      return {
        getKeys: () => ({ ok: source.hasKeys }),
        close: () => (source.closed += 1),
        describe: () => ({ problem: 'none' }),
      } as unknown as KeySource;
    },
  });
  return { registry, opened };
}

type Provider = MessageInitShape<typeof JwtProviderSchema>;
type Message = MessageInitShape<typeof JwtAuthenticationSchema>;

const url = (value: string, cacheDurationMs = 0): Provider['keys'] => ({
  source: { case: 'url', value },
  cacheDurationMs,
});
const first: Provider = { name: 'a', issuer: 'https://a.test', keys: url('https://a.test/keys'), clockSkewMs: 60_000 };
const second: Provider = { name: 'b', issuer: 'https://b.test', keys: url('https://b.test/keys') };
const header: Message['location'] = {
  location: { case: 'header', value: { name: 'authorization', prefix: 'Bearer ' } },
};

function describeInput(
  providers: readonly Provider[] = [first],
  rest: Message = {},
  inputs: Readonly<Record<string, Partial<JwtProviderInput>>> = {},
  source = 'n/p',
): JwtAuthenticationInput {
  return {
    source,
    message: create(JwtAuthenticationSchema, { location: header, ...rest, providers: [...providers] } as Message),
    providers: new Map(
      providers.map(({ name }) => [name!, { ca: undefined, keyUrls: [], ...inputs[name!] } satisfies JwtProviderInput]),
    ),
  };
}

const closings = (opened: readonly OpenedSource[]): number[] => opened.map(({ closed }) => closed);

describe('a policy', () => {
  test('is the same object for the same input', () => {
    const { registry, opened } = build();
    const config = registry.acquire(describeInput([first, second]));
    registry.reconcile([config]);
    assert.equal(registry.acquire(describeInput([first, second])), config);
    assert.equal(opened.length, 2);
    assert.deepEqual([...config.providers.keys()], ['https://a.test', 'https://b.test']);
  });

  test('begins to fetch when it arrives, with what it says', () => {
    const { registry, opened } = build();
    registry.acquire(describeInput([{ ...first, keys: url('https://a.test/keys', 7_000) }], {}, { a: { ca: 'PEM' } }));
    const [source] = opened;
    assert.deepEqual(source?.origin, { kind: 'url', url: 'https://a.test/keys', allowInsecureHttp: false });
    assert.equal(source.fetching.ca, 'PEM');
    assert.equal(source.fetching.cacheDurationMs, 7_000);
  });

  const changes: readonly (readonly [string, JwtAuthenticationInput])[] = [
    ['claims to headers', describeInput([first], { claimsToHeaders: [{ claim: 'sub', header: 'X_User' }] })],
    ['the location', describeInput([first], { location: { location: { case: 'cookie', value: 'session' } } })],
    ['forwardToken', describeInput([first], { forwardToken: true })],
    ['audiences', describeInput([{ ...first, audiences: ['x'] }])],
    ['the name of the provider', describeInput([{ ...first, name: 'z' }])],
    ['the policy’s own name', describeInput([first], {}, {}, 'n/other')],
    ['another provider beside it', describeInput([first, second])],
  ];
  for (const [what, changed] of changes)
    test(`with ${what} changed is another one, and its tokens stay verified`, () => {
      const { registry, opened } = build();
      const before = registry.acquire(describeInput());
      registry.reconcile([before]);
      const after = registry.acquire(changed);
      registry.reconcile([after]);
      assert.notEqual(after, before);
      assert.equal(after.providers.get('https://a.test')?.validator, before.providers.get('https://a.test')?.validator);
      assert.equal(opened[0]?.closed, 0);
    });

  const settings: readonly (readonly [string, Provider])[] = [
    ['the issuer', { ...first, issuer: 'https://c.test' }],
    ['the clock skew', { ...first, clockSkewMs: 1 }],
    ['required claims', { ...first, requiredClaims: [{ name: 'team', values: ['"a"'] }] }],
  ];
  for (const [what, changed] of settings)
    test(`with ${what} changed has another validator, on the keys that are there`, () => {
      const { registry, opened } = build();
      const before = registry.acquire(describeInput());
      const after = registry.acquire(describeInput([changed]));
      registry.reconcile([after]);
      assert.notEqual([...after.providers.values()][0]?.validator, [...before.providers.values()][0]?.validator);
      assert.deepEqual(closings(opened), [0]);
    });

  const moves: readonly (readonly [string, JwtAuthenticationInput])[] = [
    ['the URL', describeInput([{ ...first, keys: url('https://a.test/other') }])],
    ['the cache duration', describeInput([{ ...first, keys: url('https://a.test/keys', 1_000) }])],
    ['the CA', describeInput([first], {}, { a: { ca: 'PEM' } })],
    ['the origin', describeInput([{ ...first, keys: { source: { case: 'inline', value: '{"keys":[]}' } } }])],
    ['plain http', describeInput([{ ...first, keys: { ...url('https://a.test/keys'), allowInsecureHttp: true } as Provider['keys'] }])],
  ]; // prettier-ignore
  for (const [what, changed] of moves)
    test(`with ${what} of its keys changed fetches anew, and the old source is closed`, () => {
      const { registry, opened } = build();
      registry.reconcile([registry.acquire(describeInput())]);
      registry.reconcile([registry.acquire(changed)]);
      assert.deepEqual(closings(opened), [1, 0]);
    });

  test('that is gone closes its sources once, and comes back with new ones', () => {
    const { registry, opened } = build();
    const config = registry.acquire(describeInput([first, second]));
    registry.reconcile([config]);
    registry.reconcile([]);
    registry.reconcile([]);
    assert.deepEqual(closings(opened), [1, 1]);
    assert.notEqual(registry.acquire(describeInput([first, second])), config);
    registry.close();
    assert.deepEqual(closings(opened), [1, 1, 1, 1]);
  });

  test('shares keys and verified tokens with others that ask the same', () => {
    const { registry, opened } = build();
    const one = registry.acquire(describeInput([first, { ...second, keys: first.keys }]));
    const two = registry.acquire(describeInput([{ ...first, audiences: ['x'] }], {}, {}, 'n/q'));
    registry.reconcile([one, two]);
    assert.equal(opened.length, 1, 'one fetch for three providers');
    assert.equal(one.providers.get('https://a.test')?.validator, two.providers.get('https://a.test')?.validator);
    assert.notEqual(one.providers.get('https://b.test')?.validator, one.providers.get('https://a.test')?.validator);
    registry.reconcile([two]);
    assert.deepEqual(closings(opened), [0]);
    registry.reconcile([]);
    assert.deepEqual(closings(opened), [1]);
  });

  test('follows the endpoints of the Service that has the keys', () => {
    const { registry, opened } = build();
    const service: Provider = {
      ...first,
      keys: { source: { case: 'backend', value: { backend: 'Service/n/idp/80', path: '/keys' } } },
    };
    const config = registry.acquire(describeInput([service], {}, { a: { keyUrls: ['http://10.0.0.1:80/keys'] } }));
    const origin = opened[0]!.origin;
    assert.ok(origin.kind === 'endpoints');
    assert.deepEqual(origin.listUrls(), ['http://10.0.0.1:80/keys']);
    const again = registry.acquire(describeInput([service], {}, { a: { keyUrls: ['http://10.0.0.2:80/keys'] } }));
    assert.equal(again, config);
    assert.deepEqual(origin.listUrls(), ['http://10.0.0.2:80/keys']);
    assert.equal(opened.length, 1);
  });

  test('knows of each provider whether its keys are there, and what it accepts', () => {
    const { registry, opened } = build();
    const { providers } = registry.acquire(describeInput([{ ...first, audiences: ['x'] }, second]));
    const [a, b] = [...providers.values()];
    opened[1]!.hasKeys = true;
    assert.deepEqual([a?.hasKeys, b?.hasKeys], [false, true]);
    assert.deepEqual([a?.audiences, b?.audiences], [['x'], 'any']);
    assert.equal(b?.describeKeys().problem, 'none');
  });

  test('knows what clients must not send, in one spelling for all', () => {
    const { registry } = build();
    const claimsToHeaders = [{ claim: 'sub', header: 'X_Auth-Subject' }];
    const location: Message['location'] = { location: { case: 'header', value: { name: 'X_Token', prefix: '' } } };
    const config = registry.acquire(describeInput([first], { claimsToHeaders, location }));
    assert.deepEqual(config.location, { kind: 'header', name: 'x_token', prefix: '' });
    assert.deepEqual(config.claimHeaders, new Set(['x-auth-subject']));
    assert.deepEqual(config.withheldHeaders, new Set(['x-auth-subject', 'x-token']));
    const cookie = registry.acquire(
      describeInput([first], { claimsToHeaders, location: { location: { case: 'cookie', value: 'Session' } } }),
    );
    assert.deepEqual(cookie.location, { kind: 'cookie', name: 'Session' });
    assert.deepEqual(cookie.withheldHeaders, new Set(['x-auth-subject']));
  });
});

describe('what cannot be enforced', () => {
  const inputs: readonly (readonly [string, JwtAuthenticationInput, RegExp])[] = [
    ['no location', describeInput([first], { location: {} }), /names no location/],
    ['a location without a name', describeInput([first], { location: { location: { case: 'cookie', value: '' } } }), /names no location/],
    ['a header without a name', describeInput([first], { location: { location: { case: 'header', value: {} } } }), /names no location/],
    ['a provider without keys, behind one with them', describeInput([first, { ...second, keys: {} }]), /"b" names no keys/],
    ['a required value that is no JSON', describeInput([second, { ...first, requiredClaims: [{ name: 'a', values: ['{'] }] }]), /required value "\{" of the claim "a" is not JSON/],
  ]; // prettier-ignore
  for (const [what, input, message] of inputs)
    test(`${what} throws, and leaves nothing open`, () => {
      const { registry, opened } = build();
      assert.throws(() => registry.acquire(input), message);
      registry.reconcile([]);
      assert.ok(opened.every(({ closed }) => closed === 1));
    });
});
