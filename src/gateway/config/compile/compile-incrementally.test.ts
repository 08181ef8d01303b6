// Whatever is edited in whatever order: what a store has in force equals what compiling the same configuration from nothing gives, and nothing in it
// was closed on the way.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clone, create, type DescMessage, isMessage, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { createCertificate } from '../../../../test/self-signed-certificate.ts';
import { silentLog } from '../../../base/log.ts';
import { type Configuration, emptyConfiguration } from '../../../ir/configuration.ts';
import {
  AuthenticationMode, AuthorizationAction, BackendSchema, ListenerProtocol, ListenerSchema,
  LoginFlow, PathMatchType, PolicySchema, PolicyTargetKind, RouteSchema, SecretSchema,
} from '../../../ir/gen/config_pb.ts'; // prettier-ignore
import type { AcquireJwtAuthentication } from '../../authentication/jwt/jwt-authentication-registry.ts';
import { HostTable } from '../../route/table/hostname.ts';
import { RouteTable } from '../../route/table/route-table.ts';
import { compile, type PolicyConnections } from './compile.ts';
import { ConfigStore } from './config-store.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { effort } from '../../../../test/kit/effort.ts';

/** As the registries do: one object per content, that lives until a configuration comes that does not use it. */
function createFakeRegistry() {
  const open = new Map<string, { isClosed: boolean; keyUrls: unknown }>();
  function acquire(input: { readonly source: string; readonly message: { readonly issuer?: string } }): never {
    if (input.message.issuer === 'throws') throw new Error('no such thing');
    const { message, ...others } = plain(input) as Record<string, unknown>;
    const keyUrls = others['keyUrls'] ?? others['providers'];
    const key = JSON.stringify([input.source, message, others['ca'], others['sealKeys']]);
    const config = open.get(key) ?? {
      isClosed: false,
      keyUrls,
      source: input.source,
      message: input.message,
      claimHeaders: new Set(),
    };
    config.keyUrls = keyUrls;
    open.set(key, config);
    return config as never;
  }
  const connections: PolicyConnections = {
    acquireAuthentication: acquire,
    acquireJwtAuthentication: acquire as unknown as AcquireJwtAuthentication,
  };
  return {
    connections,
    reconcile(used: readonly unknown[]) {
      for (const [key, config] of open) {
        if (used.includes(config)) continue;
        config.isClosed = true;
        open.delete(key);
      }
    },
  };
}

/** Everything that can be compared; functions cannot. */
function plain(value: unknown): unknown {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof HostTable || value instanceof RouteTable)
    return plain(typeof value.entries === 'function' ? value.entries() : value.entries);
  if (value instanceof Map) return plain([...value]);
  if (value instanceof Set) return plain([...value]);
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  const schema = schemas.find((each) => isMessage(value, each));
  if (schema !== undefined) return toJson(schema, value as never);
  const entries = Object.entries(value).map(([key, each]) => [key, plain(each)] as const);
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** Lists of what is in use have no order, and versions count. */
function describeRuntime({ authentications, jwtAuthentications, keyUsers, ...others }: RuntimeConfig) {
  const sort = (list: readonly unknown[]): readonly string[] =>
    list.map((each) => JSON.stringify(plain(each))).toSorted();
  return {
    ...(plain({ ...others, version: 0 }) as object),
    lists: [authentications, jwtAuthentications, keyUsers].map(sort),
  };
}

const schemas: readonly DescMessage[] = [ListenerSchema, RouteSchema, BackendSchema, PolicySchema, SecretSchema];

const { cert: certificate } = createCertificate({ names: ['ca.test'] });
const namespaces = fc.constantFrom('n', 'm');
const small = fc.nat(2);

const anySecret = fc.oneof(
  fc
    .record({ key: fc.constantFrom('ConfigMap/n/ca', 'ConfigMap/n/ca2'), pem: fc.constantFrom(certificate, 'broken') })
    .map(({ key, pem }) => create(SecretSchema, { key, value: { case: 'caCertificates', value: pem } })),
  small.map((fill) =>
    create(SecretSchema, {
      key: 'SealKeys',
      value: { case: 'sealKeys', value: { keys: [new Uint8Array(32).fill(fill)] } },
    }),
  ),
);

const anyListener = fc
  .record({ id: fc.nat(1), port: fc.constantFrom(80, 81, 70_000), hostname: fc.constantFrom('', '*.test', 'a b') })
  .map(({ id, ...others }) =>
    create(ListenerSchema, {
      key: `n/g/l${id}`,
      gateway: 'n/g',
      name: `l${id}`,
      protocol: ListenerProtocol.HTTP,
      ...others,
    }),
  );

const backendKeys = ['Service/n/a/80', 'Service/n/b/80', 'ProxyBackend/n/p', 'ProxyBackend/m/q'] as const;
const anyBackendKey = fc.constantFrom(...backendKeys);
const anyBackend = fc
  .record({
    key: anyBackendKey,
    port: fc.constantFrom(1, 2, 0),
    ca: fc.constantFrom(undefined, undefined, 'ConfigMap/n/ca', 'ConfigMap/n/ca2'),
  })
  .map(({ key, port, ca }) => {
    const upstream = {
      endpoints: [{ host: '127.0.0.1', port }],
      ...(ca === undefined ? {} : { tls: { serverName: 'x', ca } }),
    };
    return create(BackendSchema, {
      key,
      kind: key.startsWith('Service')
        ? { case: 'http', value: upstream }
        : { case: 'mcp', value: { targets: [{ name: 't', upstream, path: '/' }] } },
    });
  });

const anyPath = fc.constantFrom(
  { type: PathMatchType.PREFIX, value: '/' },
  { type: PathMatchType.PREFIX, value: '/a' },
  { type: PathMatchType.EXACT, value: '/a' },
  { type: PathMatchType.REGULAR_EXPRESSION, value: '/a.*' },
  { type: PathMatchType.REGULAR_EXPRESSION, value: '(' },
);
const anyRoute = fc
  .record({
    namespace: namespaces,
    id: small,
    paths: fc.array(anyPath, { maxLength: 2 }),
    hostnames: fc.array(fc.constantFrom('a.test', 'b.test', '*.test', 'x y'), { maxLength: 2 }),
    listeners: fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 2 }),
    backends: fc.array(anyBackendKey, { maxLength: 2 }),
    mirror: fc.option(anyBackendKey, { nil: undefined }),
    hasCors: fc.boolean(),
  })
  .map((one) =>
    create(RouteSchema, {
      key: `${one.namespace}/r${one.id}/0`,
      httpRoute: `${one.namespace}/r${one.id}`,
      ruleName: one.id === 0 ? 'main' : '',
      parents: one.listeners.map((id) => ({ listener: `n/g/l${id}`, hostnames: one.hostnames })),
      matches: one.paths.map((path) => ({ path })),
      backends: one.backends.map((backend) => ({ backend, weight: 1 })),
      filters: [
        ...(one.mirror === undefined
          ? []
          : [
              {
                filter: {
                  case: 'requestMirror' as const,
                  value: { backend: one.mirror, numerator: 1, denominator: 1 },
                },
              },
            ]),
        ...(one.hasCors
          ? [{ filter: { case: 'cors' as const, value: { allowOrigins: ['https://filter.test'] } } }]
          : []),
      ],
    }),
  );

const { GATEWAY, HTTP_ROUTE, PROXY_BACKEND, NAMESPACE } = PolicyTargetKind;
const anyTarget = fc.constantFrom(
  { kind: GATEWAY, namespace: 'n', name: 'g' },
  { kind: GATEWAY, namespace: 'n', name: 'g', sectionName: 'l0' },
  { kind: HTTP_ROUTE, namespace: 'n', name: 'r0' },
  { kind: HTTP_ROUTE, namespace: 'n', name: 'r0', sectionName: 'main' },
  { kind: HTTP_ROUTE, namespace: 'm', name: 'r1' },
  { kind: PROXY_BACKEND, namespace: 'n', name: 'p' },
  { kind: PROXY_BACKEND, namespace: 'm', name: 'q' },
  { kind: NAMESPACE, namespace: 'm' },
  { kind: 9 as PolicyTargetKind, namespace: 'm', name: 'r1' },
);
type Spec = NonNullable<MessageInitShape<typeof PolicySchema>['spec']>;
const anyKeys = fc.constantFrom(
  undefined,
  { source: { case: 'url' as const, value: 'https://idp.test/keys' } },
  { source: { case: 'backend' as const, value: { backend: 'Service/n/a/80', path: '/keys' } } },
);
/** What translation always sets. */
const usualLogin = { keys: { cacheDurationMs: 300_000 }, registration: { perMinute: 60, maxBodyBytes: 65_536 } };
const anyCa = fc.constantFrom('', 'ConfigMap/n/ca');
const anyExpression = fc.constantFrom('true', '"a" in jwt.groups', 'not an expression');
const anySpec: fc.Arbitrary<Spec> = fc.oneof(
  fc.constantFrom<Spec>(
    { case: 'failure', value: { status: 500, reason: 'Invalid' } },
    { case: 'cors', value: { allowOrigins: ['https://a.test'] } },
    { case: 'cors', value: { allowOrigins: ['https://b.test'] } },
    { case: undefined },
  ),
  anyExpression.map((text): Spec => ({
    case: 'authorization',
    value: { action: AuthorizationAction.ALLOW, expressions: [text] },
  })),
  anyExpression.map((text): Spec => ({
    case: 'mcpAuthorization',
    value: { rules: { action: AuthorizationAction.DENY, expressions: [text] } },
  })),
  fc
    .record({
      issuer: fc.constantFrom('https://idp.test', 'https://other.test', 'throws', ''),
      keys: anyKeys,
      ca: anyCa,
    })
    .map(({ keys, ...others }): Spec => ({
      case: 'mcpAuthentication',
      value: { mode: AuthenticationMode.STRICT, ...usualLogin, keys: { ...usualLogin.keys, ...keys }, ...others },
    })),
  fc.record({ keys: anyKeys, ca: anyCa }).map(({ keys, ca }): Spec => ({
    case: 'jwtAuthentication',
    value: {
      mode: AuthenticationMode.STRICT,
      providers: [{ name: 'a', issuer: 'https://idp.test', ca, keys: { ...usualLogin.keys, ...keys } }],
    },
  })),
);
const anyPolicy = fc.record({ id: fc.nat(5), target: anyTarget, spec: anySpec, hasRival: fc.boolean() }).map((one) =>
  create(PolicySchema, {
    key: `n/p${one.id}`,
    source: `n/p${one.id}`,
    target: one.target,
    spec: one.spec,
    rivals: one.hasRival ? [{ source: 'n/rival' }] : [],
  }),
);

type List = keyof Configuration;
type AnyMessage = Configuration[List][number];
type Edit =
  | { readonly kind: 'put'; readonly list: List; readonly message: AnyMessage }
  | { readonly kind: 'remove' | 'copy'; readonly list: List; readonly at: number };

const put = (list: List, message: fc.Arbitrary<AnyMessage>): fc.Arbitrary<Edit> =>
  message.map((each) => ({ kind: 'put', list, message: each }));
const anyList = fc.constantFrom<List>('listeners', 'routes', 'backends', 'policies', 'secrets');
const anyEdit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 2, arbitrary: put('listeners', anyListener) },
  { weight: 4, arbitrary: put('routes', anyRoute) },
  { weight: 3, arbitrary: put('backends', anyBackend) },
  { weight: 5, arbitrary: put('policies', anyPolicy) },
  { weight: 2, arbitrary: put('secrets', anySecret) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('remove' as const, 'remove' as const, 'copy' as const),
      list: anyList,
      at: fc.nat(20),
    }),
  },
);

const schemaOf = {
  listeners: ListenerSchema,
  routes: RouteSchema,
  backends: BackendSchema,
  policies: PolicySchema,
  secrets: SecretSchema,
} as const;

function applyEdit(configuration: Configuration, edit: Edit): Configuration {
  const messages: AnyMessage[] = [...configuration[edit.list]];
  if (edit.kind === 'put') {
    const at = messages.findIndex(({ key }) => key === edit.message.key);
    messages.splice(at === -1 ? messages.length : at, at === -1 ? 0 : 1, edit.message);
  } else if (messages.length > 0) {
    const at = edit.at % messages.length;
    // An equal message that is another object is no change.
    const copies = edit.kind === 'copy' ? [clone(schemaOf[edit.list], messages[at] as never)] : [];
    messages.splice(at, 1, ...copies);
  }
  return { ...configuration, [edit.list]: messages };
}

describe('a store', () => {
  test('has in force what compiling from nothing gives, after any sequence of edits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyEdit, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 }),
        (steps) => {
          const registry = createFakeRegistry();
          const store = new ConfigStore(silentLog, registry.connections);
          store.subscribe(({ authentications, jwtAuthentications }) =>
            registry.reconcile([...authentications, ...jwtAuthentications]),
          );
          let configuration: Configuration = emptyConfiguration;
          for (const edits of steps) {
            configuration = edits.reduce(applyEdit, configuration);
            const { problems } = store.apply(configuration);
            const fresh = compile(configuration, undefined, createFakeRegistry().connections);
            assert.deepEqual(problems, fresh.problems);
            const inForce = describeRuntime(store.current);
            assert.deepEqual(inForce, describeRuntime(fresh.runtime));
            assert.ok(!JSON.stringify(inForce).includes('"isClosed":true'));
          }
        },
      ),
      { numRuns: effort(300, 60) },
    );
  });

  test('makes nothing anew that a change does not concern', () => {
    const listener = create(ListenerSchema, {
      key: 'n/g/l0',
      gateway: 'n/g',
      name: 'l0',
      port: 80,
      protocol: ListenerProtocol.HTTP,
    });
    const route = (name: string) =>
      create(RouteSchema, {
        key: `n/${name}/0`,
        httpRoute: `n/${name}`,
        parents: [{ listener: 'n/g/l0', hostnames: [`${name}.test`] }],
        backends: [{ backend: 'Service/n/a/80', weight: 1 }],
      });
    const rules = (name: string, text: string) =>
      create(PolicySchema, {
        key: `n/${name}`,
        source: `n/${name}`,
        target: { kind: HTTP_ROUTE, namespace: 'n', name },
        spec: { case: 'authorization', value: { action: AuthorizationAction.ALLOW, expressions: [text] } },
      });
    const backend = (port: number) =>
      create(BackendSchema, {
        key: 'Service/n/a/80',
        kind: { case: 'http', value: { endpoints: [{ host: '127.0.0.1', port }] } },
      });
    const store = new ConfigStore(silentLog);
    const tableOf = (name: string) => store.current.ports.get('|80')!.listeners.any!.routes.find(`${name}.test`);
    const first: Configuration = {
      listeners: [listener],
      routes: [route('a'), route('b')],
      backends: [backend(1)],
      policies: [rules('a', 'true'), rules('b', 'true')],
      secrets: [],
    };
    store.apply(first);
    const before = { a: tableOf('a'), b: tableOf('b') };

    store.apply({ ...first, policies: [rules('a', 'false'), rules('b', 'true')] });
    assert.notEqual(tableOf('a'), before.a);
    assert.equal(tableOf('b'), before.b, 'the policy of another route');

    const after = { a: tableOf('a'), b: tableOf('b') };
    store.apply({ ...first, policies: [rules('a', 'false'), rules('b', 'true')], backends: [backend(2)] });
    assert.deepEqual([tableOf('a') === after.a, tableOf('b') === after.b], [true, true], 'endpoints');
    assert.equal(store.current.backends.get('Service/n/a/80')?.endpoints[0]?.port, 2);
  });

  test('does not take over what was closed for want of use', () => {
    const registry = createFakeRegistry();
    const store = new ConfigStore(silentLog, registry.connections);
    store.subscribe(({ authentications }) => registry.reconcile(authentications));
    const login = (name: string) =>
      create(PolicySchema, {
        key: `n/${name}`,
        source: `n/${name}`,
        target: { kind: PROXY_BACKEND, namespace: 'n', name: 'p' },
        spec: {
          case: 'mcpAuthentication',
          value: { mode: AuthenticationMode.STRICT, issuer: 'https://idp.test', ...usualLogin },
        },
      });
    const [first, second] = [login('a'), login('b')];
    store.apply({ ...emptyConfiguration, policies: [first, second] });
    const inUse = () =>
      store.current.authentications.map((each) => each as unknown as { source: string; isClosed: boolean });
    assert.deepEqual(
      inUse().map(({ source }) => source),
      ['n/a'],
    );
    store.apply({ ...emptyConfiguration, policies: [second] });
    assert.deepEqual(
      inUse().map(({ source, isClosed }) => [source, isClosed]),
      [['n/b', false]],
    );
  });

  test('knows that a hostname has the protected resources of a less specific one', () => {
    const registry = createFakeRegistry();
    const store = new ConfigStore(silentLog, registry.connections);
    const listener = create(ListenerSchema, { key: 'n/g/l0', port: 80, protocol: ListenerProtocol.HTTP });
    const route = (name: string, hostname: string, path: string) =>
      create(RouteSchema, {
        key: `n/${name}/0`,
        httpRoute: `n/${name}`,
        parents: [{ listener: 'n/g/l0', hostnames: [hostname] }],
        matches: [{ path: { type: PathMatchType.PREFIX, value: path } }],
        backends: [{ backend: 'ProxyBackend/n/p', weight: 1 }],
      });
    const own = route('own', 'a.test', '/own');
    const wide = (path: string) => route('wide', '*.test', path);
    const base: Configuration = {
      ...emptyConfiguration,
      listeners: [listener],
      policies: [
        create(PolicySchema, {
          key: 'n/login',
          source: 'n/login',
          target: { kind: PROXY_BACKEND, namespace: 'n', name: 'p' },
          spec: {
            case: 'mcpAuthentication',
            value: {
              issuer: 'https://idp.test',
              mode: AuthenticationMode.STRICT,
              flow: LoginFlow.DIRECT,
              audiences: ['a'],
              ...usualLogin,
            },
          },
        }),
      ],
    };
    const paths = () =>
      [...store.current.ports.get('|80')!.listeners.any!.protection.find('a.test')!.resources.keys()].toSorted();
    store.apply({ ...base, routes: [own, wide('/one')] });
    assert.deepEqual(paths(), ['/one', '/own']);
    store.apply({ ...base, routes: [own, wide('/two')] });
    assert.deepEqual(paths(), ['/own', '/two']);
    store.apply({ ...base, routes: [own] });
    assert.deepEqual(paths(), ['/own']);
  });
});
