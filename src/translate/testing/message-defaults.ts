// What fields of messages hold when a resource leaves them to the schemas of src/api, where that is not the zero value: goldens do not repeat it.
// A new field with a default is a row here and a line in testdata/defaults.yaml, and rewrites no other golden.
import type { JsonObject } from '@bufbuild/protobuf';

/** Defaults of fields, as goldens would show them: a message that holds its own defaults is `{}`. By types of messages, and JSON names of fields. */
export type MessageDefaults = Readonly<Record<string, Readonly<JsonObject>>>;

/** All of them. Each stands in testdata/defaults.yaml, where translation made it of resources that say nothing about it. */
export const messageDefaults: MessageDefaults = {
  Route: { matches: [{}] },
  RouteMatch: { path: {} },
  PathMatch: { type: 'PATH_MATCH_TYPE_PREFIX', value: '/' },
  ValueMatch: { type: 'VALUE_MATCH_TYPE_EXACT' },
  WeightedBackend: { weight: 1 },
  RequestRedirect: { statusCode: 302 },
  RequestMirror: { numerator: 100, denominator: 100 },
  Cors: { maxAgeSeconds: 5 },
  Upstream: { protocol: 'UPSTREAM_PROTOCOL_HTTP1', connectTimeoutMs: 10_000, idleTimeoutMs: 300_000 },
  McpBackend: { sessionRouting: 'SESSION_ROUTING_STATEFUL' },
  McpTarget: { path: '/mcp', transport: 'MCP_TRANSPORT_STREAMABLE_HTTP' },
  FederationBackend: { sessionRouting: 'SESSION_ROUTING_STATEFUL', namePrefix: 'NAME_PREFIX_ALWAYS' },
  FederatedTarget: { failureMode: 'TARGET_FAILURE_MODE_FAIL_OPEN' },
  EndpointPicker: { failureMode: 'PICKER_FAILURE_MODE_FAIL_CLOSE' },
  McpAuthentication: {
    mode: 'AUTHENTICATION_MODE_STRICT',
    keys: {},
    flow: 'LOGIN_FLOW_AUTO',
    registration: {},
    clientIdMetadataDocuments: true,
    clockSkewMs: 60_000,
    sessionBinding: true,
  },
  ClientRegistration: { mode: 'REGISTRATION_MODE_FORWARD', perMinute: 60, maxBodyBytes: 65_536 },
  IssuedTokens: { lifetimeMs: 900_000, refreshLifetimeMs: '2592000000' },
  KeySource: { cacheDurationMs: 300_000 },
  JwtAuthentication: { mode: 'AUTHENTICATION_MODE_STRICT', location: { header: {} } },
  JwtProvider: { clockSkewMs: 60_000 },
  TokenHeader: { name: 'authorization', prefix: 'Bearer ' },
  Authorization: { action: 'AUTHORIZATION_ACTION_ALLOW' },
};
