// One Gateway gets what is its own and nothing else, and serves with it exactly what the whole configuration says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { type PolicyConnections, compile } from '../gateway/config/compile/compile.ts';
import type { RuntimeConfig } from '../gateway/config/runtime-config.ts';
import { matchRoute } from '../gateway/route/match-route.ts';
import type { Configuration } from '../ir/configuration.ts';
import { type Route, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { listBackends, listBackendSecrets } from './message-references.ts';
import { listPolicyReferences } from './policies/policy-translators.ts';
import { sliceConfiguration } from './slice-configuration.ts';
import { arbitraryResources } from './testdata/arbitrary-resources.ts';
import { collectResources } from './testdata/collect-resources.ts';
import { type Translation, createTranslator, translate } from './translate.ts';
import { inferenceTranslation } from './inference-translation.ts';
import { effort } from '../../test/kit/effort.ts';

const hosts = ['a.example.com', 'x.example.com', 'x.a.example.com', 'example.com', 'x.com', 'b.example.org', 'other'];
const paths = ['/', '/a', '/a/b', '/mcp', '/mcp/x', '/v1', '/x'];

// What is asked for shows in the outcome: a secret that is not there makes a difference.
const connections = {
  acquireAuthentication: (input: object) => input,
  acquireJwtAuthentication: (input: object) => ({ ...input, claimHeaders: new Set() }),
} as unknown as PolicyConnections;

interface Served {
  readonly gateway: string;
  readonly answer: string;
  /** There is neither a route nor an endpoint of the gateway's own. */
  readonly isNothing: boolean;
}

/** What a runtime does with requests, by port, host and path. */
function serve({ ports, backends }: RuntimeConfig): ReadonlyMap<string, Served> {
  const served = new Map<string, Served>();
  for (const { bindKey, listeners } of ports.values())
    for (const hostname of hosts) {
      const listener = listeners.find(hostname);
      if (listener === undefined) continue;
      for (const path of paths)
        for (const method of ['GET', 'POST']) {
          const request = { method, hostname, path, query: '', headers: ['x-a', '1'] };
          const match = matchRoute(listener, request);
          const endpoints = match?.route.backends.entries.map(({ backend }) => backends.get(backend)?.fingerprint);
          const { key, protection } = listener;
          const own = protection.find(hostname);
          const answer = inspect({ key, match, endpoints, own }, { depth: 9, sorted: true, maxArrayLength: null });
          const isNothing = match === undefined && own === undefined;
          served.set(`${bindKey} ${method} ${hostname}${path}`, { gateway: listener.gateway, answer, isNothing });
        }
    }
  return served;
}

function listMirroredOrUsed(routes: readonly Route[]): ReadonlySet<string> {
  return new Set(routes.flatMap(listBackends));
}

function checkOwn(gateway: string, slice: Configuration, whole: Configuration): void {
  const { listeners, routes, backends, policies, secrets } = slice;
  const listenerKeys = new Set(listeners.map(({ key }) => key));
  assert.ok(listeners.length > 0 && listeners.every((listener) => listener.gateway === gateway));
  for (const route of routes) {
    assert.ok(route.parents.length > 0, route.key);
    for (const { listener } of route.parents) assert.ok(listenerKeys.has(listener), listener);
  }
  const used = listMirroredOrUsed(routes);
  const references = policies.map(listPolicyReferences);
  const wanted = new Set([...used, ...references.flatMap((each) => each.backends)]);
  assert.deepEqual(new Set(backends.map(({ key }) => key)), wanted);
  const wantedSecrets = new Set([
    ...listeners.flatMap(({ certificates, awaitedCertificates, clientValidation }) => [
      ...certificates.filter((key) => !awaitedCertificates.includes(key)),
      ...(clientValidation?.ca ?? []),
    ]),
    ...backends.flatMap(listBackendSecrets),
    ...references.flatMap((each) => each.secrets),
  ]);
  assert.deepEqual(new Set(secrets.map(({ key }) => key)), wantedSecrets);
  for (const { key, target } of policies) {
    const full = `${target?.namespace}/${target?.name}`;
    const prefix = `${target?.namespace}/`;
    const isOwn: Readonly<Record<number, boolean>> = {
      [PolicyTargetKind.GATEWAY]: full === gateway,
      [PolicyTargetKind.UNPROTECTED]: full === gateway,
      [PolicyTargetKind.HTTP_ROUTE]: routes.some(({ httpRoute }) => httpRoute === full),
      [PolicyTargetKind.PROXY_BACKEND]: used.has(`ProxyBackend/${full}`),
      [PolicyTargetKind.NAMESPACE]:
        gateway.startsWith(prefix) ||
        routes.some(({ httpRoute }) => httpRoute.startsWith(prefix)) ||
        [...used].some((backend) => backend.startsWith(`ProxyBackend/${prefix}`)),
    };
    assert.ok(isOwn[target?.kind ?? 0], key);
  }
  // The messages of the whole, in its order.
  for (const list of ['listeners', 'backends', 'policies', 'secrets'] as const) {
    const places = slice[list].map((message) => (whole[list] as readonly object[]).indexOf(message));
    assert.ok(
      places.every((place, at) => place >= 0 && (at === 0 || places[at - 1]! < place)),
      list,
    );
  }
}

/** Keys of messages that no Gateway gets. */
function findLost({ configuration }: Translation): readonly string[] {
  const slices = [...sliceConfiguration(configuration).values()];
  return (Object.keys(configuration) as (keyof Configuration)[]).flatMap((list) => {
    const sent = new Set(slices.flatMap((slice) => slice[list].map(({ key }) => key)));
    return configuration[list].flatMap((message) => {
      // A policy that closes a namespace in which there is nothing has nowhere to go.
      const isIdle =
        message.$typeName === 'gateway.proxy.config.v1alpha1.Policy' &&
        message.target?.kind === PolicyTargetKind.NAMESPACE;
      return sent.has(message.key) || isIdle ? [] : [`${list} ${message.key}`];
    });
  });
}

describe('slices', () => {
  test('have what is their own, and together they have everything', () => {
    fc.assert(
      fc.property(arbitraryResources, fc.constantFrom('host' as const, 'pods' as const), (resources, placement) => {
        const translation = translate(resources, { placement, inference: inferenceTranslation });
        for (const [gateway, slice] of sliceConfiguration(translation.configuration))
          checkOwn(gateway, slice, translation.configuration);
        assert.deepEqual(findLost(translation), []);
        for (const [policy, keysByGateway] of translation.policyKeys)
          for (const [gateway, keys] of keysByGateway) {
            const sent = sliceConfiguration(translation.configuration).get(gateway)?.policies ?? [];
            assert.deepEqual(
              sent.filter(({ source, key }) => source === policy && keys.includes(key)).length,
              keys.length,
              `${policy} at ${gateway}`,
            );
          }
      }),
      { numRuns: effort(200, 40) },
    );
  });

  test('serve what the whole serves on their listeners', () => {
    let compared = 0;
    fc.assert(
      fc.property(arbitraryResources, (resources) => {
        const { configuration } = translate(resources, { inference: inferenceTranslation });
        const compilation = compile(configuration, undefined, connections);
        const whole = serve(compilation.runtime);
        const known = new Set(compilation.problems.map((problem) => JSON.stringify(problem)));
        for (const [gateway, slice] of sliceConfiguration(configuration)) {
          const { runtime, problems } = compile(slice, undefined, connections);
          assert.deepEqual(
            problems.filter((problem) => !known.has(JSON.stringify(problem))),
            [],
          );
          const own = serve(runtime);
          for (const [request, { gateway: server, answer, isNothing }] of whole) {
            // On a host another Gateway may be more specific about the hostname.
            if (server !== gateway) continue;
            compared += 1;
            // A listener that waits for its only certificate stays where other Gateways have the port open, and serves nothing there.
            if (isNothing && !own.has(request)) continue;
            assert.equal(own.get(request)?.answer, answer, request);
          }
        }
      }),
      { numRuns: effort(60, 12) },
    );
    assert.ok(compared > 500, `only ${compared}`);
  });

  test('a route of two Gateways is trimmed for each, and once', () => {
    const translator = createTranslator({ placement: 'pods' });
    const documents = [createGateway('one'), createGateway('two'), createGateway('three'), createRoute(['one', 'two'])];
    const first = translator.translate(collectResources(documents, 'kubernetes'));
    const slices = sliceConfiguration(first.configuration);
    const parents = (gateway: string) =>
      slices.get(`default/${gateway}`)?.routes.map((route) => route.parents.map(({ listener }) => listener));
    assert.deepEqual(parents('one'), [['default/one/http']]);
    assert.deepEqual(parents('two'), [['default/two/http']]);
    assert.deepEqual(parents('three'), []);
    // One of them changes: what the other gets does not.
    documents[1] = createGateway('two', 'two.example.com');
    const next = translator.translate(collectResources(documents, 'kubernetes'));
    const later = sliceConfiguration(next.configuration, slices);
    assert.equal(later.get('default/one'), slices.get('default/one'));
    assert.notEqual(later.get('default/two'), slices.get('default/two'));
    assert.equal(later.get('default/three'), slices.get('default/three'));
  });

  test('the secret of a Gateway goes to nobody else', () => {
    const documents = [
      createGateway('one'),
      createGateway('two'),
      createRoute(['one']),
      {
        apiVersion: 'gateway.proxy/v1alpha1',
        kind: 'ProxyBackend',
        metadata: { name: 'tickets' },
        spec: { mcp: { targets: [{ name: 'a', static: { host: 'mcp.example.com', port: 80 } }] } },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token' }, stringData: { token: 'a', other: 'b' } },
      {
        apiVersion: 'gateway.proxy/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'login' },
        spec: {
          targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }],
          backend: {
            mcp: {
              authentication: {
                issuer: 'https://idp.example.com',
                resourceMetadata: { resource: 'https://mcp.example.com/mcp' },
                registration: { initialAccessTokenRef: { name: 'token', key: 'token' } },
              },
            },
          },
        },
      },
    ];
    const { configuration } = translate(collectResources(documents, 'kubernetes'), { placement: 'pods' });
    const slices = sliceConfiguration(configuration);
    assert.deepEqual(
      slices.get('default/one')?.secrets.map(({ key }) => key),
      ['Secret/default/token/token'],
    );
    assert.deepEqual(slices.get('default/two'), { ...empty, listeners: slices.get('default/two')?.listeners });
  });
});

test('a policy that closes a namespace goes to every Gateway that something in it concerns', () => {
  const broken = (namespace: string) => ({
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'broken', namespace },
    spec: { targetRefs: 7 },
  });
  const route = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'tickets', namespace: 'routes' },
    spec: {
      parentRefs: [{ name: 'one', namespace: 'default' }],
      rules: [
        { backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets', namespace: 'backends' }] },
      ],
    },
  };
  const backend = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name: 'tickets', namespace: 'backends' },
    spec: { mcp: { targets: [{ name: 'a', static: { host: 'mcp.example.com', port: 80 } }] } },
  };
  const grant = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'ReferenceGrant',
    metadata: { name: 'open', namespace: 'backends' },
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'routes' }],
      to: [{ group: 'gateway.proxy', kind: 'ProxyBackend' }],
    },
  };
  const other = createGateway('other') as { readonly metadata: object };
  const documents = [
    createGateway('one'),
    { ...other, metadata: { ...other.metadata, namespace: 'other' } },
    route,
    backend,
    grant,
    ...['default', 'routes', 'backends', 'other', 'nothing'].map(broken),
  ];
  const { configuration } = translate(collectResources(documents, 'kubernetes'), { placement: 'pods' });
  const slices = sliceConfiguration(configuration);
  const list = (gateway: string) => slices.get(gateway)?.policies.map(({ target }) => target?.namespace);
  assert.deepEqual(list('default/one'), ['backends', 'default', 'routes']);
  assert.deepEqual(list('other/other'), ['other']);
});

const empty: Configuration = { listeners: [], routes: [], backends: [], policies: [], secrets: [] };

function createGateway(name: string, hostname?: string): object {
  const allowedRoutes = { namespaces: { from: 'All' } };
  const host = hostname === undefined ? {} : { hostname };
  const listener = { name: 'http', port: 80, protocol: 'HTTP', allowedRoutes, ...host };
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name },
    spec: { gatewayClassName: 'proxy', listeners: [listener] },
  };
}

function createRoute(gateways: readonly string[]): object {
  const backendRefs = [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }];
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'tickets' },
    spec: {
      parentRefs: gateways.map((name) => ({ name })),
      rules: [{ matches: [{ path: { value: '/mcp' } }], backendRefs }],
    },
  };
}
