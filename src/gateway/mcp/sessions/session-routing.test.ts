import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { addTag, routeSession, splitTag, tagEndpoint, tagResponse } from './session-routing.ts';

function endpointsOf(...ports: number[]): { tag: string; port: number }[] {
  return ports.map((port) => ({ port, tag: tagEndpoint('default/tickets', '10.0.0.1', port) }));
}

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
});

test('property: a tag that was added comes off again, whatever the id looks like', () => {
  fc.assert(
    fc.property(visible, fc.nat(65_535), (id, port) => {
      const tag = tagEndpoint('b', 'h', port);
      assert.deepEqual(splitTag(addTag(id, tag)), { sessionId: id, tag });
    }),
  );
});

test('a tag is the same in every process, differs by backend, host and port, and does not show the address', () => {
  assert.equal(tagEndpoint('default/a', '10.0.0.1', 80), tagEndpoint('default/a', '10.0.0.1', 80));
  const tags = new Set([
    tagEndpoint('default/a', '10.0.0.1', 80),
    tagEndpoint('default/b', '10.0.0.1', 80),
    tagEndpoint('default/a', '10.0.0.2', 80),
    tagEndpoint('default/a', '10.0.0.1', 81),
  ]);
  assert.equal(tags.size, 4);
  for (const tag of tags) assert.match(tag, /^[A-Za-z0-9_-]{6}$/);
});

test('a session goes back to its endpoint, which sees its own id', () => {
  const endpoints = endpointsOf(1, 2, 3);
  for (const endpoint of endpoints) {
    const answered = tagResponse(['Content-Type', 'x', 'Mcp-Session-Id', 'abc'], endpoint.tag);
    const route = routeSession(['accept', 'y', 'MCP-Session-ID', answered[3]!], endpoints, 'stateful');
    assert.deepEqual(route, { kind: 'session', endpoint, headers: ['accept', 'y', 'MCP-Session-ID', 'abc'] });
  }
});

test('a session that began with one endpoint stays when more are added, and is gone with its endpoint', () => {
  const [first] = endpointsOf(1) as [{ tag: string; port: number }];
  const [second] = endpointsOf(2) as [{ tag: string; port: number }];
  const id = tagResponse(['mcp-session-id', 'abc'], first.tag)[1]!;
  const headers = ['mcp-session-id', id];
  assert.equal(routeSession(headers, [first], 'stateful').kind, 'session');
  assert.deepEqual(routeSession(headers, [second, first], 'stateful'), {
    kind: 'session',
    endpoint: first,
    headers: ['mcp-session-id', 'abc'],
  });
  assert.deepEqual(routeSession(headers, [second], 'stateful'), { kind: 'gone' });
  assert.deepEqual(routeSession(headers, [], 'stateful'), { kind: 'gone' });
});

test('an id without a tag passes as it is, always to the same endpoint', () => {
  const endpoints = endpointsOf(1, 2, 3);
  const headers = ['mcp-session-id', '5f0f6c9e-plain'];
  const route = routeSession(headers, endpoints, 'stateful');
  assert.equal(route.kind, 'session');
  assert.deepEqual(routeSession(headers, endpoints.toReversed(), 'stateful'), route);
  assert.ok(route.kind === 'session' && route.headers === headers && endpoints.includes(route.endpoint!));
  assert.deepEqual(routeSession(headers, [endpoints[1]!], 'stateful'), {
    kind: 'session',
    endpoint: endpoints[1],
    headers,
  });
});

test('a forged tag reaches an endpoint of this backend or nothing', () => {
  const endpoints = endpointsOf(1, 2);
  fc.assert(
    fc.property(visible, (id) => {
      const route = routeSession(['mcp-session-id', id], endpoints, 'stateful');
      assert.ok(route.kind === 'gone' || (route.kind === 'session' && endpoints.includes(route.endpoint!)));
    }),
  );
  const foreign = tagEndpoint('default/other', '10.0.0.1', 1);
  assert.deepEqual(routeSession(['mcp-session-id', addTag('abc', foreign)], endpoints, 'stateful'), { kind: 'gone' });
});

test('stateless routing leaves ids alone, but takes off a tag that is one of ours', () => {
  const endpoints = endpointsOf(1, 2);
  const plain = ['mcp-session-id', 'abc~looksL'];
  assert.deepEqual(routeSession(plain, endpoints, 'stateless'), {
    kind: 'session',
    endpoint: undefined,
    headers: plain,
  });
  assert.deepEqual(routeSession(['mcp-session-id', addTag('abc', endpoints[1]!.tag)], endpoints, 'stateless'), {
    kind: 'session',
    endpoint: undefined,
    headers: ['mcp-session-id', 'abc'],
  });
});

test('no id and several ids', () => {
  assert.deepEqual(routeSession(['a', 'b'], endpointsOf(1), 'stateful'), { kind: 'none' });
  assert.deepEqual(routeSession(['mcp-session-id', 'a', 'Mcp-Session-Id', 'b'], endpointsOf(1), 'stateful'), {
    kind: 'invalid',
  });
  assert.deepEqual(tagResponse(['a', 'b'], 'xxxxxx'), ['a', 'b']);
});
