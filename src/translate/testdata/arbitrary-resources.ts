// Arbitrary resources for property tests: few names, so that references meet, and values that nobody should write.
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import type { InvalidResource, Resources } from '../../api/resources.ts';
import { collectResources } from './collect-resources.ts';

const namespace = fc.constantFrom('default', 'default', 'default', 'team');
const name = fc.constantFrom('a', 'b');
const section = fc.constantFrom('one', 'two', 'three');
const port = fc.constantFrom(80, 81, 443, 8080, 9000, 9001);
const hostname = fc.constantFrom(
  'a.example.com',
  '*.example.com',
  '*.a.example.com',
  'example.com',
  '*.com',
  'b.example.org',
);
const labels = fc.constantFrom({}, { app: 'x' }, { app: 'y', tier: 'public' });
const time = fc.constantFrom(
  undefined,
  '2026-01-01T00:00:00Z',
  '2026-01-02T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '2999-01-01T00:00:00Z',
);
const expression = fc.constantFrom('/a/.*', '(', '[', '/x(?=y)', '.*', '^/v[0-9]+', '/a|/b(', '*');

function optional<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined });
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const metadata = fc.record({ name, namespace, labels, creationTimestamp: time, generation: optional(fc.nat(9)) });
const clusterMetadata = fc.record({
  name: fc.constantFrom('proxy', 'a', 'b', 'c', 'd'),
  labels,
  creationTimestamp: time,
});

function resource(
  apiVersion: string,
  kind: string,
  rest: Record<string, fc.Arbitrary<unknown>>,
  meta: fc.Arbitrary<unknown> = metadata,
) {
  return fc.record({ apiVersion: fc.constant(apiVersion), kind: fc.constant(kind), metadata: meta, ...rest });
}

const core = 'v1';
const gatewayApi = 'gateway.networking.k8s.io/v1';
const proxyApi = 'gateway.proxy/v1alpha1';

const gatewayClass = resource(
  gatewayApi,
  'GatewayClass',
  {
    spec: fc.record({
      controllerName: fc.constantFrom('gateway.proxy/controller', 'gateway.proxy/controller', 'example.com/other'),
      parametersRef: seldom(fc.constant({ group: 'x', kind: 'Y', name: 'z' })),
    }),
  },
  clusterMetadata,
);

const allowedRoutes = optional(
  fc.record({
    namespaces: fc.constantFrom(
      { from: 'All' },
      { from: 'All' },
      { from: 'Same' },
      { from: 'Selector', selector: { matchLabels: { app: 'x' } } },
    ),
    kinds: optional(fc.constantFrom([{ kind: 'HTTPRoute' }], [{ kind: 'GRPCRoute' }], [])),
  }),
);
const tls = fc.record({
  certificateRefs: fc.array(fc.record({ name, namespace: optional(namespace) }), { minLength: 1, maxLength: 2 }),
});
const listener = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      name: section,
      port,
      protocol: fc.constant('HTTP'),
      hostname: seldom(hostname),
      allowedRoutes,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      name: section,
      port,
      protocol: fc.constant('HTTPS'),
      hostname: optional(hostname),
      allowedRoutes,
      tls,
    }),
  },
  { weight: 1, arbitrary: fc.record({ name: section, port, protocol: fc.constant('TCP'), allowedRoutes }) },
);

const gateway = resource(gatewayApi, 'Gateway', {
  spec: fc.record({
    gatewayClassName: fc.constantFrom('proxy', 'proxy', 'proxy', 'proxy', 'a', 'nothing'),
    listeners: fc.uniqueArray(listener, { minLength: 1, maxLength: 3, selector: ({ name: own }) => own }),
    addresses: seldom(
      fc.array(
        fc.record({
          type: optional(fc.constantFrom('IPAddress', 'Hostname')),
          value: optional(fc.constantFrom('127.0.0.1', '0.0.0.0', '::', '::1', '224.0.0.1')),
        }),
        { maxLength: 2 },
      ),
    ),
    infrastructure: seldom(fc.constant({ parametersRef: { group: 'g', kind: 'K', name: 'n' } })),
  }),
});

const backendKind = fc.constantFrom(
  { group: '', kind: 'Service' },
  { group: '', kind: 'Service' },
  { group: 'gateway.proxy', kind: 'ProxyBackend' },
  { group: 'gateway.proxy', kind: 'ProxyBackend' },
  { group: 'example.com', kind: 'Service' },
);
const backendName = fc.constantFrom('a', 'b', 'a', 'b', 'nothing');
const backendPort = fc.constantFrom(80, 8080);
const backendRef = fc
  .tuple(backendKind, fc.record({ name: backendName, namespace: seldom(namespace), port: backendPort }))
  .map((parts) => Object.assign({}, ...parts) as object);

const filter = fc.oneof(
  fc.record({
    type: fc.constant('RequestHeaderModifier'),
    requestHeaderModifier: fc.record({
      set: fc.constantFrom([], [{ name: 'X-A', value: '1' }]),
      remove: fc.constantFrom([], ['x-a'], ['x-b']),
    }),
  }),
  fc.record({
    type: fc.constant('RequestMirror'),
    requestMirror: fc.record({ backendRef, percent: optional(fc.nat(100)) }),
  }),
  fc.record({
    type: fc.constant('URLRewrite'),
    urlRewrite: fc.record({ path: fc.constant({ type: 'ReplaceFullPath', replaceFullPath: '/x' }) }),
  }),
  fc.constant({ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }),
  fc.constant({ type: 'ExtensionRef', extensionRef: { group: 'g', kind: 'K', name: 'n' } }),
  fc.constant({ type: 'CORS', cors: { allowOrigins: ['*'] } }),
);
const filters = fc.uniqueArray(filter, { maxLength: 2, selector: ({ type }) => type });

const rule = fc.record({
  name: optional(section),
  matches: seldom(
    fc.array(
      fc.record({
        path: optional(
          fc.oneof(
            fc.constantFrom({ type: 'Exact', value: '/a' }, { type: 'PathPrefix', value: '/' }),
            fc.record({ type: fc.constant('RegularExpression'), value: expression }),
          ),
        ),
        method: optional(fc.constantFrom('GET', 'POST')),
        headers: optional(
          fc.array(
            fc.record({
              name: fc.constantFrom('X-A', 'x-a', 'b', 'c'),
              type: optional(fc.constantFrom('Exact', 'RegularExpression')),
              value: expression,
            }),
            { maxLength: 2 },
          ),
        ),
      }),
      { maxLength: 2 },
    ),
  ),
  filters: seldom(filters),
  backendRefs: fc.option(
    fc.array(
      fc
        .tuple(backendRef, fc.record({ weight: fc.constantFrom(undefined, 0, 1, 1_000_000), filters: seldom(filters) }))
        .map((parts) => Object.assign({}, ...parts) as object),
      { maxLength: 3, size: 'max' },
    ),
    { nil: undefined, freq: 8 },
  ),
  timeouts: optional(fc.record({ request: fc.constantFrom('0s', '10s', '99999h99999h99999h99999h') })),
});

const parentRef = fc.record({
  name: fc.constantFrom('a', 'b', 'a', 'b', 'nothing'),
  namespace: seldom(namespace),
  sectionName: seldom(section),
  port: seldom(port),
  kind: fc.constantFrom('Gateway', 'Gateway', 'Gateway', 'Service'),
});
const httpRoute = resource(gatewayApi, 'HTTPRoute', {
  spec: fc.record({
    parentRefs: fc.oneof(
      fc.uniqueArray(parentRef, { maxLength: 3, selector: ({ name: own }) => own }),
      fc.array(parentRef, { maxLength: 3 }),
    ),
    hostnames: optional(fc.array(hostname, { maxLength: 3 })),
    rules: fc.uniqueArray(rule, { minLength: 1, maxLength: 3, selector: ({ name: own }) => own ?? Symbol('unnamed') }),
  }),
});

const service = resource(core, 'Service', {
  spec: fc.oneof(
    fc.record({
      ports: fc.uniqueArray(
        fc.record({
          name: section,
          port: backendPort,
          appProtocol: optional(fc.constantFrom('http', 'kubernetes.io/h2c', 'https')),
          protocol: seldom(fc.constant('UDP')),
        }),
        { minLength: 1, maxLength: 2, selector: ({ name: own }) => own },
      ),
    }),
    fc.record({
      type: fc.constant('ExternalName'),
      externalName: fc.constant('mcp.example.com'),
      ports: fc.constantFrom([], [{ port: 80 }]),
    }),
  ),
});
const endpointSlice = fc.record({
  apiVersion: fc.constant('discovery.k8s.io/v1'),
  kind: fc.constant('EndpointSlice'),
  metadata: fc.record({ name, namespace, labels: fc.record({ 'kubernetes.io/service-name': name }) }),
  addressType: fc.constant('IPv4'),
  endpoints: fc.array(
    fc.record({
      addresses: fc.constantFrom(['10.0.0.1'], ['10.0.0.2', '10.0.0.1']),
      conditions: fc.constantFrom({}, { ready: true }, { ready: false }),
    }),
    { maxLength: 3 },
  ),
  ports: fc.uniqueArray(fc.record({ name: section, port: optional(port) }), {
    maxLength: 2,
    selector: ({ name: own }) => own,
  }),
});
const [certificate] = parseAllDocuments(
  readFileSync(new URL('listener-https-with-two-certificates.yaml', import.meta.url), 'utf8'),
).flatMap((document) => {
  const { kind, stringData } = document.toJS() as { kind?: string; stringData?: Record<string, string> };
  return kind === 'Secret' && stringData !== undefined ? [stringData] : [];
});
const secret = resource(core, 'Secret', {
  stringData: fc.constantFrom(
    {},
    certificate,
    { ...certificate, 'ca.crt': certificate?.['tls.crt'] },
    { 'tls.crt': 'x', 'tls.key': 'y' },
    { token: 'secret' },
    { token: 'secret\n', 'ca.crt': certificate?.['tls.crt'] },
    { token: '' },
  ),
});
const configMap = resource(core, 'ConfigMap', { data: fc.constantFrom({}, { 'ca.crt': 'x' }) });
const space = resource(core, 'Namespace', {}, fc.record({ name: namespace, labels }));
const grant = resource(gatewayApi, 'ReferenceGrant', {
  spec: fc.record({
    from: fc.array(
      fc.record({
        group: fc.constantFrom('gateway.networking.k8s.io', 'gateway.proxy'),
        kind: fc.constantFrom('HTTPRoute', 'Gateway', 'ProxyBackend', 'ProxyPolicy'),
        namespace,
      }),
      { minLength: 1, maxLength: 2 },
    ),
    to: fc.array(
      fc.record({
        group: fc.constantFrom('', 'gateway.proxy'),
        kind: fc.constantFrom('Service', 'Secret', 'ProxyBackend'),
        name: optional(name),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
});
const proxyBackend = resource(proxyApi, 'ProxyBackend', {
  spec: fc.record({
    mcp: fc.record({
      targets: fc.tuple(
        fc.oneof(
          fc.record({
            name: section,
            static: fc.record({ host: fc.constantFrom('mcp.example.com', '::1'), port }),
            tls: optional(
              fc.record({
                caCertificateRef: optional(fc.record({ kind: fc.constantFrom('Secret', 'ConfigMap'), name })),
              }),
            ),
          }),
          fc.record({
            name: section,
            backendRef: fc.record({ name, namespace: seldom(namespace), port: backendPort }),
            tls: optional(fc.constant({})),
          }),
        ),
      ),
    }),
  }),
});

const routeRef = fc.record({
  group: fc.constant('gateway.networking.k8s.io'),
  kind: fc.constantFrom('HTTPRoute'),
  name,
  sectionName: seldom(section),
});
const gatewayRef = fc.record({
  group: fc.constant('gateway.networking.k8s.io'),
  kind: fc.constantFrom('Gateway'),
  name,
  sectionName: optional(section),
});
const backendTarget = fc.record({ group: fc.constant('gateway.proxy'), kind: fc.constant('ProxyBackend'), name });
const targetRef = fc.oneof(routeRef, gatewayRef, backendTarget);
const selectors = fc.constant([{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', matchLabels: { app: 'x' } }]);
const proxyPolicy = resource(proxyApi, 'ProxyPolicy', {
  spec: fc.record({
    targetRefs: fc.oneof(
      fc.array(routeRef, { minLength: 1, maxLength: 2 }),
      fc.array(gatewayRef, { minLength: 1, maxLength: 2 }),
      fc.array(targetRef, { minLength: 1, maxLength: 2 }),
      fc.constant(undefined),
    ),
    targetSelectors: seldom(selectors),
    traffic: fc.constantFrom({ cors: { allowOrigins: ['*'] } }, { cors: { allowOrigins: ['*'] } }, { cros: {} }),
  }),
});

const entry = fc.record({
  name: fc.constantFrom('a', 'served', 'served'),
  key: fc.constantFrom('token', 'token', 'token', 'nothing'),
});
const authentication = fc.record({
  issuer: fc.constantFrom(
    'https://a.example.com',
    'https://b.example.com',
    'https://c.example.com',
    'http://d.example.com',
  ),
  mode: optional(fc.constantFrom('Strict', 'Optional', 'Permissive')),
  jwks: seldom(
    fc.oneof(
      fc.record({ url: fc.constant('https://idp.example.com/keys') }),
      fc.record({ inline: fc.constantFrom('{"keys":[{}]}', '{"keys":[]}', '[') }),
      fc.record({
        backendRef: fc.record({ name, namespace: seldom(namespace), port: backendPort }),
        path: fc.constant('/keys'),
      }),
      fc.record({ caCertificateRef: fc.record({ kind: fc.constantFrom('Secret', 'ConfigMap'), name }) }),
    ),
  ),
  registration: optional(
    fc.oneof(
      fc.record({ mode: fc.constant('Shared'), clientId: fc.constant('a'), clientSecretRef: optional(entry) }),
      fc.record({ initialAccessTokenRef: entry }),
      fc.record({
        initialAccessTokenFrom: fc.record({
          clientCredentials: fc.record({ clientId: fc.constant('a'), clientSecretRef: entry }),
        }),
      }),
    ),
  ),
  requiredClaims: seldom(fc.constantFrom({ a: 'b' }, { a: ['b', 1, true], __proto: 2 })),
  resourceMetadata: optional(
    fc.record({
      resource: optional(fc.constant('https://mcp.example.com/mcp')),
      resourceName: optional(fc.constant('A')),
      resource_name: seldom(fc.constant('B')),
      other: seldom(fc.jsonValue()),
    }),
  ),
});
// Chance alone seldom makes a way from a listener to a ProxyBackend, and policies on what nobody reaches say little.
const servedTarget = fc.record({
  group: fc.constant('gateway.proxy'),
  kind: fc.constant('ProxyBackend'),
  name: fc.constantFrom('a', 'b', 'served', 'served'),
});
const servedMatch = fc.constantFrom(
  { path: { type: 'PathPrefix', value: '/mcp' } },
  { path: { type: 'Exact', value: '/mcp' } },
  { path: { type: 'RegularExpression', value: '/v[0-9]+' } },
  { headers: [{ name: 'x-a', value: '1' }] },
);
const way = fc.record({ matches: fc.array(servedMatch, { minLength: 1, maxLength: 2 }) }).map((ruleContent) => [
  {
    apiVersion: gatewayApi,
    kind: 'Gateway',
    metadata: { name: 'served', namespace: 'default' },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'one', port: 7777, protocol: 'HTTP' }] },
  },
  {
    apiVersion: gatewayApi,
    kind: 'HTTPRoute',
    metadata: { name: 'served', namespace: 'default' },
    spec: {
      parentRefs: [{ name: 'served' }],
      rules: [{ ...ruleContent, backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'served' }] }],
    },
  },
  {
    apiVersion: proxyApi,
    kind: 'ProxyBackend',
    metadata: { name: 'served', namespace: 'default' },
    spec: { mcp: { targets: [{ name: 'one', static: { host: 'mcp.example.com', port: 80 } }] } },
  },
  {
    apiVersion: core,
    kind: 'Secret',
    metadata: { name: 'served', namespace: 'default' },
    stringData: { token: 'secret', other: 'never in a message' },
  },
]);

// Names of their own: a source gives each name once, and these are not to push the others out.
const policyMetadata = fc.record({ name: fc.constantFrom('c', 'd', 'e'), namespace, creationTimestamp: time });
const backendPolicyFields = {
  spec: fc.record({
    targetRefs: fc.oneof(
      { weight: 6, arbitrary: fc.uniqueArray(servedTarget, { minLength: 1, maxLength: 2, selector: (t) => t.name }) },
      { weight: 1, arbitrary: fc.array(targetRef, { minLength: 1, maxLength: 2 }) },
    ),
    backend: fc.record({
      mcp: fc.oneof(
        { weight: 8, arbitrary: fc.record({ authentication }) },
        { weight: 1, arbitrary: fc.constant({ authorization: {} }) },
      ),
    }),
  }),
};
const backendPolicy = resource(proxyApi, 'ProxyPolicy', backendPolicyFields, policyMetadata);

const raws = fc
  .tuple(
    fc.array(gatewayClass, { maxLength: 2 }),
    fc.array(gateway, { minLength: 1, maxLength: 4, size: 'max' }),
    fc.array(httpRoute, { minLength: 2, maxLength: 4, size: 'max' }),
    fc.array(service, { minLength: 3, maxLength: 5, size: 'max' }),
    fc.array(endpointSlice, { maxLength: 3, size: 'max' }),
    fc.array(secret, { maxLength: 2, size: 'max' }),
    fc.array(configMap, { maxLength: 2 }),
    fc.array(space, { maxLength: 2 }),
    fc.array(grant, { maxLength: 3, size: 'max' }),
    fc.array(proxyBackend, { minLength: 2, maxLength: 4, size: 'max' }),
    fc.array(proxyPolicy, { minLength: 1, maxLength: 4, size: 'max' }),
    fc.array(backendPolicy, { minLength: 1, maxLength: 3, size: 'max' }),
    way,
  )
  .map((lists) => lists.flat() as readonly unknown[]);

// Anything at all in place of a resource's spec, for resources that did not validate.
const strange: fc.Arbitrary<InvalidResource> = fc.record({
  kind: fc.constantFrom(
    'ProxyPolicy',
    'ProxyPolicy',
    'HTTPRoute',
    'Gateway',
    'GatewayClass',
    'ProxyBackend',
    'Service',
    '',
  ),
  namespace,
  name,
  raw: fc.oneof(
    fc.anything(),
    fc.record({
      apiVersion: fc.constantFrom(proxyApi, gatewayApi, 7),
      spec: fc.oneof(
        fc.anything(),
        fc.record({
          targetRefs: fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), targetRef))),
          targetSelectors: fc.anything(),
          parentRefs: fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), parentRef))),
          controllerName: fc.constant('gateway.proxy/controller'),
          gatewayClassName: fc.constantFrom('proxy', 3),
        }),
      ),
    }),
  ),
  problems: fc.constantFrom([], [{ path: ['spec', 'traffic', 0], code: 'invalid' as const, message: 'wrong' }]),
});

/** Resources as a source would give them: what validates in its list, the rest among the invalid. */
export const arbitraryResources: fc.Arbitrary<Resources> = fc
  .tuple(raws, fc.array(strange, { maxLength: 2 }))
  .map(([documents, invalid]) => {
    // JSON drops what is undefined, as YAML never has it.
    const resources = collectResources(JSON.parse(JSON.stringify(documents)) as readonly unknown[], 'kubernetes');
    return { ...resources, invalid: [...resources.invalid, ...invalid] };
  });
