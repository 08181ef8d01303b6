// A small configuration with everything that admin pages must show, and everything that they must hide.
import { create } from '@bufbuild/protobuf';
import type { Configuration } from '../../src/ir/configuration.ts';
import {
  BackendSchema,
  ListenerProtocol,
  ListenerSchema,
  PathMatchType,
  PolicySchema,
  PolicyTargetKind,
  RouteSchema,
  SecretSchema,
  ValueMatchType,
} from '../../src/ir/gen/config_pb.ts';
import { createCertificate } from '../self-signed-certificate.ts';

/** Appears in the configuration only where it must not be shown. */
export const hiddenValue = 'Hidden0Value';

const tls = createCertificate({ names: ['mcp.example', '*.mcp.example'] });

/** The private key of the configuration's certificate, without its PEM frame. */
export const hiddenKeyLine = tls.key.split('\n')[1]!;

export const adminConfiguration: Configuration = {
  listeners: [
    create(ListenerSchema, {
      key: 'default/gw/https',
      gateway: 'default/gw',
      name: 'https',
      addresses: ['127.0.0.1'],
      port: 8443,
      protocol: ListenerProtocol.HTTPS,
      hostname: '*.mcp.example',
      certificates: ['Secret/default/tls'],
    }),
  ],
  routes: [
    create(RouteSchema, {
      key: 'default/tickets/0',
      httpRoute: 'default/tickets',
      parents: [{ listener: 'default/gw/https', hostnames: ['a.mcp.example'] }],
      matches: [
        { path: { type: PathMatchType.PREFIX, value: '/mcp' } },
        {
          path: { type: PathMatchType.EXACT, value: '/mcp/exact' },
          method: 'POST',
          headers: [
            { name: 'x-api-key', type: ValueMatchType.EXACT, value: hiddenValue },
            { name: 'x-team', type: ValueMatchType.REGULAR_EXPRESSION, value: 'a|b' },
          ],
          queryParams: [{ name: 'v', type: ValueMatchType.EXACT, value: '2' }],
        },
      ],
      filters: [
        {
          filter: {
            case: 'requestHeaderModifier',
            value: {
              set: [
                { name: 'Authorization', value: `Bearer ${hiddenValue}` },
                { name: 'x-visible', value: 'yes' },
              ],
            },
          },
        },
      ],
      backends: [
        { backend: 'Service/default/tickets/80', weight: 9 },
        { backend: '', weight: 1, failure: { status: 500, reason: 'backend_invalid', message: 'no such Service' } },
      ],
    }),
    create(RouteSchema, {
      key: 'default/broken/0',
      httpRoute: 'default/broken',
      ruleName: 'main',
      parents: [{ listener: 'default/gw/https', hostnames: [] }],
      matches: [{ path: { type: PathMatchType.PREFIX, value: '/' } }],
      failure: { status: 500, reason: 'route_invalid', message: 'a filter is not valid' },
    }),
  ],
  backends: [
    create(BackendSchema, {
      key: 'Service/default/tickets/80',
      kind: {
        case: 'http',
        value: {
          endpoints: [
            { host: '10.0.0.1', port: 80 },
            { host: 'fd00::1', port: 81 },
          ],
        },
      },
    }),
  ],
  policies: [
    create(PolicySchema, {
      key: 'default/browsers/traffic.cors',
      source: 'default/browsers',
      target: { kind: PolicyTargetKind.HTTP_ROUTE, namespace: 'default', name: 'tickets' },
      spec: { case: 'cors', value: { allowOrigins: ['https://app.example'] } },
    }),
  ],
  secrets: [
    create(SecretSchema, {
      key: 'Secret/default/tls',
      value: { case: 'tls', value: { certificateChain: tls.cert, privateKey: tls.key } },
    }),
    create(SecretSchema, {
      key: 'ConfigMap/default/ca',
      value: { case: 'caCertificates', value: `${tls.cert}${tls.cert}` },
    }),
  ],
};
