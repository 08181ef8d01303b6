// What goldens leave out is what holds its default, and nothing else: messages that differ are printed differently.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AuthenticationMode,
  BackendSchema,
  JwtAuthenticationSchema,
  McpAuthenticationSchema,
  RegistrationMode,
  RouteSchema,
  UpstreamProtocol,
  UpstreamSchema,
} from '../../ir/gen/config_pb.ts';
import { messageDefaults } from './message-defaults.ts';
import { printMessage } from './print-message.ts';

type UpstreamInit = MessageInitShape<typeof UpstreamSchema> & { readonly $typeName?: never };

const usual: UpstreamInit = { protocol: UpstreamProtocol.HTTP1, connectTimeoutMs: 10_000, idleTimeoutMs: 300_000 };

function printUpstream(init: UpstreamInit): unknown {
  return printMessage(UpstreamSchema, create(UpstreamSchema, init));
}

test('a field that holds its default is left out', () => {
  assert.deepEqual(printUpstream(usual), {});
  assert.deepEqual(printUpstream({ ...usual, hostHeader: 'mcp.example.com' }), { hostHeader: 'mcp.example.com' });
});

test('a value that becomes another than the default is shown', () => {
  assert.deepEqual(printUpstream({ ...usual, connectTimeoutMs: 1000 }), { connectTimeoutMs: 1000 });
  assert.deepEqual(printUpstream({ ...usual, protocol: UpstreamProtocol.H2C }), { protocol: 'UPSTREAM_PROTOCOL_H2C' });
  assert.deepEqual(printUpstream({ ...usual, requestTimeoutMs: 1 }), { requestTimeoutMs: 1 });
});

test('a field that was forgotten is shown with its zero value', () => {
  assert.deepEqual(printUpstream({}), {
    protocol: 'UPSTREAM_PROTOCOL_UNSPECIFIED',
    connectTimeoutMs: 0,
    idleTimeoutMs: 0,
  });
});

test('a message that was forgotten is shown as null, one with all defaults is left out', () => {
  const message = create(McpAuthenticationSchema, {
    registration: { mode: RegistrationMode.FORWARD, perMinute: 60, maxBodyBytes: 65_536 },
  });
  assert.equal('registration' in printMessage(McpAuthenticationSchema, message), false);
  message.registration!.perMinute = 10;
  assert.deepEqual(printMessage(McpAuthenticationSchema, message)['registration'], { perMinute: 10 });
  message.registration = undefined;
  assert.equal(printMessage(McpAuthenticationSchema, message)['registration'], null);
});

test('lists have an element for each element', () => {
  const route = create(RouteSchema, { backends: [{ weight: 1 }, { weight: 0 }, { weight: 2 }] });
  assert.deepEqual(printMessage(RouteSchema, route), { matches: [], backends: [{}, { weight: 0 }, { weight: 2 }] });
});

test('which member of a oneof is set is shown, also when it holds its defaults', () => {
  const http = create(BackendSchema, { kind: { case: 'http', value: usual } });
  assert.deepEqual(printMessage(BackendSchema, http), { http: {} });
  const jwt = create(JwtAuthenticationSchema, {
    mode: AuthenticationMode.STRICT,
    location: { location: { case: 'cookie', value: '' } },
  });
  assert.deepEqual(printMessage(JwtAuthenticationSchema, jwt), { location: { cookie: '' } });
});

test('without defaults it is the JSON of protobuf', () => {
  const upstream = create(UpstreamSchema, usual);
  assert.deepEqual(printMessage(UpstreamSchema, upstream, {}), {
    protocol: 'UPSTREAM_PROTOCOL_HTTP1',
    connectTimeoutMs: 10_000,
    idleTimeoutMs: 300_000,
  });
});

test('a new field with a default changes no print but that of messages that hold another value', () => {
  const upstream = create(UpstreamSchema, { ...usual, hostHeader: 'mcp.example.com' });
  const before = { ...messageDefaults, Upstream: { ...messageDefaults['Upstream'], hostHeader: 'mcp.example.com' } };
  assert.deepEqual(printMessage(UpstreamSchema, upstream, before), {});
  upstream.hostHeader = '';
  assert.deepEqual(printMessage(UpstreamSchema, upstream, before), { hostHeader: '' });
});
