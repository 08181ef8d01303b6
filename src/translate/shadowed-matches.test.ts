// What routes are told agrees with what the gateway does: its own endpoints come before routes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../test/kit/effort.ts';
import { compile, type PolicyConnections } from '../gateway/config/compile/compile.ts';
import { findOwnEndpoint } from '../gateway/route/find-protection.ts';
import { findShadowedMatches } from './shadowed-matches.ts';
import { collectResources } from './testdata/collect-resources.ts';
import { translate } from './translate.ts';

const hosts = ['', 'a.example.com', '*.example.com', 'b.example.com'] as const;
const paths = ['/', '/one', '/two', '/one/deep'] as const;
const guesses = [
  ...['', '/one', '/two', '/one/deep'].flatMap((path) => [
    `/.well-known/oauth-protected-resource${path}`,
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `/.oauth${path}/token`,
    `/.oauth${path}/callback`,
  ]),
  '/one/.well-known/openid-configuration',
  '/.oauth/other',
  '/.well-known/security.txt',
] as const;

const login = fc.record({
  host: fc.constantFrom(...hosts),
  path: fc.constantFrom(...paths),
  resource: fc.option(fc.constantFrom('https://mcp.example.com/one', 'https://mcp.example.com/two/'), {
    nil: undefined,
  }),
});

/** Policies that need a connection to their identity provider get one that does nothing. */
const connections = {
  acquireAuthentication: (input: { readonly message: { readonly resource: string } }) => ({
    ...input,
    resourcePath: URL.parse(input.message.resource)?.pathname.replace(/\/$/, ''),
  }),
} as unknown as PolicyConnections;

const exact = (value: string): object => ({ path: { type: 'Exact', value } });
const prefix = (value: string): object => ({ path: { value } });

function route(name: string, host: string, matches: readonly object[], backend: object): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: {
      parentRefs: [{ name: 'edge' }],
      ...(host === '' ? {} : { hostnames: [host] }),
      rules: matches.map((match) => ({ matches: [match], backendRefs: [backend] })),
    },
  };
}

test('a match is told to be shadowed exactly where an endpoint of the gateway is at its path', () => {
  let shadowed = 0;
  const property = fc.property(
    fc.uniqueArray(login, { minLength: 1, maxLength: 3, selector: ({ path }) => path }),
    fc.constantFrom(...hosts),
    (logins, host) => {
      // Two policies for one path are a conflict, which is told elsewhere.
      const places = logins.map(({ path, resource }) => (resource === undefined ? path : new URL(resource).pathname));
      fc.pre(new Set(places.map((place) => place.replace(/\/$/, ''))).size === places.length);
      const resources = [
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          metadata: { name: 'edge' },
          spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
        },
        ...logins.flatMap(({ host: own, path, resource }, index) => [
          route(`login-${index}`, own, [prefix(path)], {
            group: 'gateway.proxy',
            kind: 'ProxyBackend',
            name: `b${index}`,
          }),
          {
            apiVersion: 'gateway.proxy/v1alpha1',
            kind: 'ProxyBackend',
            metadata: { name: `b${index}` },
            spec: { mcp: { targets: [{ name: 't', static: { host: 'mcp.example', port: 80 } }] } },
          },
          {
            apiVersion: 'gateway.proxy/v1alpha1',
            kind: 'ProxyPolicy',
            metadata: { name: `p${index}` },
            spec: {
              targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: `b${index}` }],
              backend: {
                mcp: {
                  authentication: {
                    issuer: `https://idp${index}.example.com`,
                    // Without a resource every host of the route has to be known.
                    resourceMetadata: { resource: resource ?? `https://h${index}.example.com${path}` },
                  },
                },
              },
            },
          },
        ]),
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'web' },
          spec: { type: 'ExternalName', externalName: 'w' },
        },
        route('tenant', host, guesses.slice(0, 15).map(exact), { name: 'web', port: 80 }),
        route('tenant-more', host, guesses.slice(15).map(exact), { name: 'web', port: 80 }),
      ];
      const { configuration } = translate(collectResources(resources, 'file'));
      const told = [...findShadowedMatches(configuration.routes, configuration.policies).values()].flat();
      const { runtime } = compile(configuration, undefined, connections);
      const listener = runtime.ports.get('|80')!.listeners.find('any.test')!;
      const name = host === '' ? 'some.test' : host.replace('*', 'some');
      for (const message of configuration.routes.filter(({ httpRoute }) => httpRoute.startsWith('default/tenant'))) {
        const { value = '' } = message.matches[0]?.path ?? {};
        const isTold = told.some(({ message: text }) => text.includes(`the path ${value} is never served`));
        assert.equal(isTold, findOwnEndpoint(listener, name, value) !== undefined, `${name}${value}`);
        if (isTold) shadowed += 1;
      }
    },
  );
  fc.assert(property, { numRuns: effort(200, 30) });
  assert.ok(shadowed > 0);
});
