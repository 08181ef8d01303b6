// Arbitrary GatewayClasses and Gateways, for property tests.
import * as fc from 'fast-check';
import {
  gatewayApi,
  hostname,
  labels,
  name,
  namespace,
  optional,
  port,
  proxyApi,
  resource,
  section,
  seldom,
  time,
} from './arbitrary-values.ts';

const clusterMetadata = fc.record({
  name: fc.constantFrom('proxy', 'a', 'b', 'c', 'd'),
  labels,
  creationTimestamp: time,
});

/** A GatewayClass. */
export const gatewayClass = resource(
  gatewayApi,
  'GatewayClass',
  {
    spec: fc.record({
      controllerName: fc.constantFrom('gateway.proxy/controller', 'gateway.proxy/controller', 'example.com/other'),
      parametersRef: seldom(
        fc.constantFrom(
          { group: 'x', kind: 'Y', name: 'z' },
          { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'a', namespace: 'default' },
          { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'a' },
        ),
      ),
    }),
  },
  clusterMetadata,
);

/** A GatewayParameters. */
export const gatewayParameters = resource(proxyApi, 'GatewayParameters', {
  spec: fc.constantFrom<unknown[]>({}, {}, { unprotectedRoutes: 'Deny' }, { unprotectedRoutes: 'Allow' }, 7),
});

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
const clientValidation = fc.record({
  caCertificateRefs: fc.array(
    fc.record({
      group: fc.constantFrom('', '', '', 'x'),
      kind: fc.constantFrom('ConfigMap', 'Secret', 'Service'),
      name,
      namespace: optional(namespace),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  mode: optional(fc.constantFrom('AllowValidOnly', 'AllowInsecureFallback')),
});
const frontend = fc.record({
  default: fc.record({ validation: optional(clientValidation) }),
  perPort: optional(
    fc.uniqueArray(fc.record({ port, tls: fc.record({ validation: optional(clientValidation) }) }), {
      maxLength: 2,
      selector: (each) => each.port,
    }),
  ),
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

/** A Gateway. */
export const gateway = resource(gatewayApi, 'Gateway', {
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
    tls: seldom(fc.record({ frontend })),
    infrastructure: seldom(
      fc.constantFrom(
        { parametersRef: { group: 'g', kind: 'K', name: 'n' } },
        { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'a' } },
        { labels: { a: 'b' } },
      ),
    ),
  }),
});
