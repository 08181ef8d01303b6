// Arbitrary HTTPRoutes, for property tests.
import * as fc from 'fast-check';
import {
  expression,
  gatewayApi,
  hostname,
  namespace,
  optional,
  port,
  resource,
  section,
  seldom,
} from './arbitrary-values.ts';

const backendKind = fc.constantFrom(
  { group: '', kind: 'Service' },
  { group: '', kind: 'Service' },
  { group: 'gateway.proxy', kind: 'ProxyBackend' },
  { group: 'gateway.proxy', kind: 'ProxyBackend' },
  { group: 'inference.networking.k8s.io', kind: 'InferencePool' },
  { group: 'example.com', kind: 'Service' },
);
const backendName = fc.constantFrom('a', 'b', 'a', 'b', 'nothing');
/** Of Services. */
export const backendPort = fc.constantFrom(80, 8080);
/** A Service, a ProxyBackend or an InferencePool, or something that is none of them. */
export const backendRef = fc
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

/** A Gateway that may exist. */
export const parentRef = fc.record({
  name: fc.constantFrom('a', 'b', 'a', 'b', 'nothing'),
  namespace: seldom(namespace),
  sectionName: seldom(section),
  port: seldom(port),
  kind: fc.constantFrom('Gateway', 'Gateway', 'Gateway', 'Service'),
});
/** An HTTPRoute. */
export const httpRoute = resource(gatewayApi, 'HTTPRoute', {
  spec: fc.record({
    parentRefs: fc.oneof(
      fc.uniqueArray(parentRef, { maxLength: 3, selector: ({ name: own }) => own }),
      fc.array(parentRef, { maxLength: 3 }),
    ),
    hostnames: optional(fc.array(hostname, { maxLength: 3 })),
    rules: fc.uniqueArray(rule, { minLength: 1, maxLength: 3, selector: ({ name: own }) => own ?? Symbol('unnamed') }),
  }),
});
