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
    infrastructure: seldom(fc.constant({ parametersRef: { group: 'g', kind: 'K', name: 'n' } })),
  }),
});
