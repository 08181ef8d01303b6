// Envoy with its own filters for tokens and claims.
import type { PeerPorts } from '../bench-case.ts';
import { audience, issuer, jwks } from '../bench-tokens.ts';

export interface EnvoyOptions {
  /** jwt_authn; with `cache` it keeps the tokens that it has verified. */
  readonly jwt?: { readonly cache?: boolean };
  /** Two claims are asked for, as in our case jwt-rules. */
  readonly rbac?: boolean;
}

const filters = 'type.googleapis.com/envoy.extensions.filters';
const jwtFilter = 'envoy.filters.http.jwt_authn';

/** JSON, which it reads as YAML. One listener, one route; a line in the access log per request; statistics are always on. */
export function configureEnvoy({ gateway, upstream }: PeerPorts, options: EnvoyOptions): string {
  const manager = {
    '@type': `${filters}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'clients',
    // It ends streams that are silent for five minutes otherwise.
    stream_idle_timeout: '0s',
    access_log: [
      {
        name: 'envoy.access_loggers.file',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog',
          path: '/dev/null',
        },
      },
    ],
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [{ match: { prefix: '/' }, route: { cluster: 'server', timeout: '0s' } }],
        },
      ],
    },
    http_filters: [
      ...(options.jwt === undefined ? [] : [createJwtFilter(options.jwt.cache === true)]),
      ...(options.rbac === true ? [rbacFilter] : []),
      { name: 'envoy.filters.http.router', typed_config: { '@type': `${filters}.http.router.v3.Router` } },
    ],
  };
  return JSON.stringify({
    static_resources: {
      listeners: [
        {
          address: loopback(gateway),
          filter_chains: [
            { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] },
          ],
        },
      ],
      clusters: [
        {
          name: 'server',
          type: 'STATIC',
          connect_timeout: '5s',
          circuit_breakers: {
            thresholds: [{ max_connections: 65_536, max_pending_requests: 65_536, max_requests: 65_536 }],
          },
          load_assignment: {
            cluster_name: 'server',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: loopback(upstream) } }] }],
          },
        },
      ],
    },
  });
}

function loopback(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}

function createJwtFilter(cache: boolean): object {
  return {
    name: jwtFilter,
    typed_config: {
      '@type': `${filters}.http.jwt_authn.v3.JwtAuthentication`,
      providers: {
        idp: {
          issuer,
          audiences: [audience],
          local_jwks: { inline_string: jwks },
          payload_in_metadata: 'jwt_payload',
          ...(cache ? { jwt_cache_config: { jwt_cache_size: 10_000 } } : {}),
        },
      },
      rules: [{ match: { prefix: '/' }, requires: { provider_name: 'idp' } }],
    },
  };
}

const rbacFilter = {
  name: 'envoy.filters.http.rbac',
  typed_config: {
    '@type': `${filters}.http.rbac.v3.RBAC`,
    rules: {
      action: 'ALLOW',
      policies: {
        teams: {
          permissions: [{ not_rule: { header: { name: ':method', string_match: { exact: 'DELETE' } } } }],
          principals: [
            {
              and_ids: {
                ids: [
                  claimMatches('team', { string_match: { exact: 'platform' } }),
                  claimMatches('groups', { list_match: { one_of: { string_match: { exact: 'support' } } } }),
                ],
              },
            },
          ],
        },
      },
    },
  },
};

function claimMatches(claim: string, value: object): object {
  return { metadata: { filter: jwtFilter, path: [{ key: 'jwt_payload' }, { key: claim }], value } };
}
