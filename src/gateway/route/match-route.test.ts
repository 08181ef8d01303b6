import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  FilterSchema,
  ListenerProtocol,
  ListenerSchema,
  PathMatchType,
  type RouteMatchSchema,
  RouteSchema,
  ValueMatchType,
} from '../../ir/gen/config_pb.ts';
import { compile } from '../config/compile/compile.ts';
import type { ListenerConfig } from '../config/runtime-config.ts';
import { matchPreflight, matchRoute } from './match-route.ts';
import type { MatchRequest } from './table/route-table.ts';

type Rule = {
  readonly name: string;
  readonly matches: MessageInitShape<typeof RouteMatchSchema>[];
  readonly hostnames?: string[];
  readonly createdAt?: number;
  readonly hasCors?: boolean;
};

const { EXACT, PREFIX, REGULAR_EXPRESSION } = PathMatchType;

function buildListener(rules: readonly Rule[]): ListenerConfig {
  const listener = create(ListenerSchema, {
    key: 'n/g/l',
    gateway: 'n/g',
    name: 'l',
    port: 80,
    protocol: ListenerProtocol.HTTP,
  });
  const routes = rules.map(({ name, matches, hostnames = [], createdAt = 0, hasCors = false }) =>
    create(RouteSchema, {
      key: `n/${name}/0`,
      httpRoute: `n/${name}`,
      matches,
      createdAt,
      parents: [{ listener: 'n/g/l', hostnames }],
      filters: hasCors ? [create(FilterSchema, { filter: { case: 'cors', value: { allowOrigins: ['*'] } } })] : [],
    }),
  );
  const { runtime, problems } = compile({ listeners: [listener], routes, backends: [], policies: [], secrets: [] });
  assert.deepEqual(problems, []);
  return runtime.ports.get('|80')!.listeners.find('any.test')!;
}

function request(path: string, more: Partial<MatchRequest> = {}): MatchRequest {
  return { method: 'GET', hostname: 'example.com', path, query: '', headers: [], ...more };
}

function findName(listener: ListenerConfig, one: MatchRequest): string | undefined {
  return matchRoute(listener, one)?.route.httpRoute.slice(2);
}

describe('paths', () => {
  test('a prefix is matched by segments', () => {
    for (const value of ['/abc', '/abc/']) {
      const listener = buildListener([{ name: 'r', matches: [{ path: { type: PREFIX, value } }] }]);
      for (const path of ['/abc', '/abc/', '/abc/def', '/abc//x']) {
        assert.deepEqual(matchRoute(listener, request(path))?.matchedPrefix, '/abc', path);
      }
      for (const path of ['/abcd', '/ab', '/', '//abc', '/ABC', '/abc;x', '/abc%2Fdef']) {
        assert.equal(matchRoute(listener, request(path)), undefined, path);
      }
    }
  });

  test('the prefix / matches everything but *', () => {
    const listener = buildListener([{ name: 'r', matches: [{ path: { type: PREFIX, value: '/' } }] }]);
    assert.equal(matchRoute(listener, request('/'))?.matchedPrefix, '');
    assert.equal(matchRoute(listener, request('//a'))?.matchedPrefix, '');
    assert.equal(matchRoute(listener, request('*', { method: 'OPTIONS' })), undefined);
  });

  test('an exact path is matched as a whole', () => {
    const listener = buildListener([{ name: 'r', matches: [{ path: { type: EXACT, value: '/abc' } }] }]);
    assert.equal(matchRoute(listener, request('/abc'))?.matchedPrefix, '/abc');
    for (const path of ['/abc/', '/Abc', '/abcd', '/']) assert.equal(matchRoute(listener, request(path)), undefined);
  });

  test('configured paths get the normal form of requests', () => {
    const listener = buildListener([
      {
        name: 'r',
        matches: [{ path: { type: EXACT, value: '/%6dcp%c3%a9' } }, { path: { type: PREFIX, value: '/%7Euser' } }],
      },
    ]);
    assert.equal(findName(listener, request('/mcp%C3%A9')), 'r');
    assert.equal(findName(listener, request('/~user/x')), 'r');
  });

  test('exact before regular expression before prefix, and the longer first', () => {
    const listener = buildListener([
      { name: 'root', matches: [{ path: { type: PREFIX, value: '/' } }] },
      { name: 'a', matches: [{ path: { type: PREFIX, value: '/a' } }] },
      { name: 'long', matches: [{ path: { type: PREFIX, value: '/a/b/c/d/e/f' } }] },
      { name: 'regex', matches: [{ path: { type: REGULAR_EXPRESSION, value: '/a/b.*' } }] },
      { name: 'regexer', matches: [{ path: { type: REGULAR_EXPRESSION, value: '/a/b/c.*' } }] },
      { name: 'exact', matches: [{ path: { type: EXACT, value: '/a/b' } }] },
    ]);
    assert.equal(findName(listener, request('/a/b')), 'exact');
    assert.equal(findName(listener, request('/a/bb')), 'regex');
    assert.equal(findName(listener, request('/a/b/c/d/e/f')), 'regexer');
    assert.equal(findName(listener, request('/a/c')), 'a');
    assert.equal(findName(listener, request('/c')), 'root');
    assert.equal(matchRoute(listener, request('/a/bb'))?.matchedPrefix, undefined);
  });

  test('a regular expression matches the whole path', () => {
    const listener = buildListener([
      { name: 'r', matches: [{ path: { type: REGULAR_EXPRESSION, value: '/a|/ab+' } }] },
    ]);
    assert.equal(findName(listener, request('/abb')), 'r');
    for (const path of ['/abbc', '/x/a', '/A']) assert.equal(findName(listener, request(path)), undefined);
  });

  test('falls back to a shorter prefix when the conditions of the longer one do not hold', () => {
    const listener = buildListener([
      { name: 'short', matches: [{ path: { type: PREFIX, value: '/a' } }] },
      { name: 'long', matches: [{ path: { type: PREFIX, value: '/a/b' }, method: 'POST' }] },
    ]);
    assert.equal(findName(listener, request('/a/b', { method: 'POST' })), 'long');
    assert.equal(findName(listener, request('/a/b')), 'short');
  });

  test('a text too long for a regular expression has no route: the next best could be the wrong one', () => {
    const listener = buildListener([
      {
        name: 'guarded',
        matches: [{ path: { type: REGULAR_EXPRESSION, value: '/admin.*' } }],
        hostnames: ['example.com'],
      },
      { name: 'open', matches: [{ path: { type: PREFIX, value: '/' } }] },
      {
        name: 'exact',
        matches: [{ path: { type: EXACT, value: `/${'x'.repeat(9000)}` } }],
        hostnames: ['example.com'],
      },
    ]);
    assert.equal(findName(listener, request(`/admin/${'x'.repeat(100)}`)), 'guarded');
    assert.equal(findName(listener, request(`/admin/${'x'.repeat(9000)}`)), undefined);
    assert.equal(findName(listener, request(`/${'x'.repeat(9000)}`)), 'exact');
    assert.equal(findName(listener, request(`/admin/${'x'.repeat(9000)}`, { hostname: 'other.test' })), 'open');
  });
});

describe('hostnames', () => {
  const listener = buildListener([
    { name: 'exact', hostnames: ['a.example.com'], matches: [{ path: { type: PREFIX, value: '/exact' } }] },
    {
      name: 'wildcard',
      hostnames: ['*.example.com'],
      matches: [{ path: { type: EXACT, value: '/exact/path' } }, { path: { type: PREFIX, value: '/wild' } }],
    },
    { name: 'any', matches: [{ path: { type: PREFIX, value: '/' } }] },
  ]);

  test('come before paths', () => {
    assert.equal(findName(listener, request('/exact/path', { hostname: 'a.example.com' })), 'exact');
    assert.equal(findName(listener, request('/exact/path', { hostname: 'b.example.com' })), 'wildcard');
    assert.equal(findName(listener, request('/exact/path', { hostname: 'example.com' })), 'any');
  });

  test('a less specific one is asked when no rule of the more specific one matches', () => {
    assert.equal(findName(listener, request('/wild', { hostname: 'a.example.com' })), 'wildcard');
    assert.equal(findName(listener, request('/x', { hostname: 'a.example.com' })), 'any');
  });
});

function exact(name: string, value: string): { name: string; type: ValueMatchType; value: string } {
  return { name, type: ValueMatchType.EXACT, value };
}

describe('methods, headers and query parameters', () => {
  const path = { type: PREFIX, value: '/' };
  test('header names without case, values exactly, lines joined', () => {
    const listener = buildListener([{ name: 'r', matches: [{ path, headers: [exact('X-One', 'a,b')] }] }]);
    assert.equal(findName(listener, request('/', { headers: ['x-ONE', 'a', 'other', 'x', 'X-One', 'b'] })), 'r');
    assert.equal(findName(listener, request('/', { headers: ['x-one', 'a,b'] })), 'r');
    assert.equal(findName(listener, request('/', { headers: ['x-one', 'a, b'] })), undefined);
    assert.equal(findName(listener, request('/', { headers: ['x-one', 'A,b'] })), undefined);
    assert.equal(findName(listener, request('/')), undefined);
  });

  test('cookie lines are joined as cookies', () => {
    const listener = buildListener([{ name: 'r', matches: [{ path, headers: [exact('cookie', 'a=1; b=2')] }] }]);
    assert.equal(findName(listener, request('/', { headers: ['cookie', 'a=1', 'cookie', 'b=2'] })), 'r');
  });

  test('only the first of several entries with one name counts', () => {
    const listener = buildListener([
      {
        name: 'r',
        matches: [
          { path, headers: [exact('x', '1'), exact('X', '2')], queryParams: [exact('q', '1'), exact('q', '2')] },
        ],
      },
    ]);
    assert.equal(findName(listener, request('/', { headers: ['x', '1'], query: '?q=1' })), 'r');
    assert.equal(findName(listener, request('/', { headers: ['x', '2'], query: '?q=2' })), undefined);
  });

  test('query parameters: case counts, the first value counts, escapes and plus signs are decoded', () => {
    const listener = buildListener([{ name: 'r', matches: [{ path, queryParams: [exact('q', 'a b&é')] }] }]);
    assert.equal(findName(listener, request('/', { query: '?x=1&q=a+b%26%C3%A9&q=z' })), 'r');
    assert.equal(findName(listener, request('/', { query: '?%71=a%20b%26%C3%A9' })), 'r');
    assert.equal(findName(listener, request('/', { query: '?Q=a+b%26%C3%A9' })), undefined);
    assert.equal(findName(listener, request('/', { query: '?q=z&q=a+b%26%C3%A9' })), undefined);
    assert.equal(findName(listener, request('/', { query: '' })), undefined);
    assert.equal(findName(listener, request('/', { query: '?q=%zz%' })), undefined);
  });

  test('method, then most headers, then most query parameters', () => {
    const listener = buildListener([
      { name: 'query', matches: [{ path, queryParams: [exact('q', '1'), exact('r', '1')] }] },
      { name: 'headers', matches: [{ path, headers: [exact('x', '1')] }] },
      { name: 'method', matches: [{ path, method: 'GET' }] },
      { name: 'plain', matches: [{ path }] },
    ]);
    const all = { headers: ['x', '1'], query: '?q=1&r=1' };
    assert.equal(findName(listener, request('/', all)), 'method');
    assert.equal(findName(listener, request('/', { ...all, method: 'PUT' })), 'headers');
    assert.equal(findName(listener, request('/', { ...all, method: 'PUT', headers: [] })), 'query');
    assert.equal(findName(listener, request('/', { method: 'PUT' })), 'plain');
  });

  test('ties: the oldest, an unknown age last, then the name', () => {
    const listener = buildListener([
      { name: 'a-unknown', matches: [{ path }] },
      { name: 'c-old', createdAt: 100, matches: [{ path }] },
      { name: 'b-old', createdAt: 100, matches: [{ path }] },
      { name: 'a-young', createdAt: 200, matches: [{ path }] },
    ]);
    assert.equal(findName(listener, request('/')), 'b-old');
  });
});

describe('matchPreflight', () => {
  const listener = buildListener([
    { name: 'post', hasCors: true, matches: [{ path: { type: PREFIX, value: '/mcp' }, method: 'POST' }] },
    { name: 'any', matches: [{ path: { type: PREFIX, value: '/' } }] },
  ]);
  const options = request('/mcp', { method: 'OPTIONS' });

  test('finds the rule of the request that will follow', () => {
    assert.equal(matchPreflight(listener, options, 'POST')?.route.httpRoute, 'n/post');
  });

  test('stays with the rule of OPTIONS when the other has no CORS', () => {
    assert.equal(matchPreflight(listener, options, 'PUT')?.route.httpRoute, 'n/any');
  });
});
