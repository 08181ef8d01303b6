// Arbitrary backends and what they refer to, for property tests.
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { backendPort } from './arbitrary-routes.ts';
import {
  core,
  gatewayApi,
  labels,
  name,
  namespace,
  optional,
  port,
  proxyApi,
  resource,
  section,
  seldom,
} from './arbitrary-values.ts';

/** A Service. */
export const service = resource(core, 'Service', {
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
/** An EndpointSlice. */
export const endpointSlice = fc.record({
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
/** The entries of a Secret with a certificate. */
export const [certificate] = parseAllDocuments(
  readFileSync(new URL('listener-https-with-two-certificates.yaml', import.meta.url), 'utf8'),
).flatMap((document) => {
  const { kind, stringData } = document.toJS() as { kind?: string; stringData?: Record<string, string> };
  return kind === 'Secret' && stringData !== undefined ? [stringData] : [];
});
/** A Secret with a certificate, a token, or nothing of use. */
export const secret = resource(core, 'Secret', {
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
/** A ConfigMap. */
export const configMap = resource(core, 'ConfigMap', {
  data: fc.constantFrom({}, { 'ca.crt': 'x' }, { 'ca.crt': certificate?.['tls.crt'] }),
});
/** A Namespace. */
export const space = resource(core, 'Namespace', {}, fc.record({ name: namespace, labels }));
/** A ReferenceGrant. */
export const grant = resource(gatewayApi, 'ReferenceGrant', {
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
        group: fc.constantFrom('', 'gateway.proxy', 'inference.networking.k8s.io'),
        kind: fc.constantFrom('Service', 'Secret', 'ProxyBackend', 'InferencePool'),
        name: optional(name),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
});
/** What a target is without its name: an address or a Service. */
const server = fc.oneof(
  fc.record({
    static: fc.record({ host: fc.constantFrom('mcp.example.com', '::1'), port }),
    tls: optional(
      fc.record({
        caCertificateRef: optional(fc.record({ kind: fc.constantFrom('Secret', 'ConfigMap'), name })),
      }),
    ),
  }),
  fc.record({
    backendRef: fc.record({ name, namespace: seldom(namespace), port: backendPort }),
    tls: optional(fc.constant({})),
  }),
);

const failureMode = fc.constantFrom('FailOpen', 'FailClosed');
const selection = fc.constantFrom({ include: ['a*'] }, { exclude: ['*b'] }, { include: ['*'], exclude: ['c'] });

/** A ProxyBackend: with one target, or a federation. */
export const proxyBackend = resource(proxyApi, 'ProxyBackend', {
  spec: fc.record({
    mcp: fc.oneof(
      fc.record({ targets: fc.tuple(fc.tuple(section, server).map(([own, rest]) => ({ name: own, ...rest }))) }),
      fc.record({
        mode: fc.constant('Federated'),
        targets: fc
          .array(
            fc.tuple(
              server,
              fc.record({
                failureMode: optional(failureMode),
                tools: optional(selection),
                prompts: optional(selection),
                resources: optional(selection),
              }),
            ),
            { minLength: 1, maxLength: 3 },
          )
          // Some names are no prefixes.
          .map((targets) =>
            targets.map(([at, rest], index) => ({ name: `${index}.t`, prefix: `t${index}`, ...at, ...rest })),
          ),
        failureMode: optional(failureMode),
        names: optional(fc.constantFrom({}, { prefix: 'Always' }, { prefix: 'Never' })),
        serverInfo: optional(fc.constantFrom({ name: 'desk' }, { version: '1', instructions: 'Ask.' })),
      }),
    ),
  }),
});
