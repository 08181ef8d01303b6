// A way from a listener to a ProxyBackend, for property tests.
import * as fc from 'fast-check';
import { core, gatewayApi, proxyApi } from './arbitrary-values.ts';

// Chance alone seldom makes a way from a listener to a ProxyBackend, and policies on what nobody reaches say little.
const servedMatch = fc.constantFrom(
  { path: { type: 'PathPrefix', value: '/mcp' } },
  { path: { type: 'Exact', value: '/mcp' } },
  { path: { type: 'RegularExpression', value: '/v[0-9]+' } },
  { headers: [{ name: 'x-a', value: '1' }] },
);
/** A Gateway, a route, a backend and a Secret that lead to each other. */
export const way = fc.record({ matches: fc.array(servedMatch, { minLength: 1, maxLength: 2 }) }).map((ruleContent) => [
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
      rules: [
        {
          name: 'one',
          ...ruleContent,
          backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'served' }],
        },
      ],
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
