import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { RequestRedirectSchema } from '../../ir/gen/config_pb.ts';
import { buildRedirect, type RedirectedRequest } from './redirect.ts';

const plain: RedirectedRequest = {
  scheme: 'http',
  hostname: 'example.com',
  path: '/foo/bar',
  query: '?q=1',
  listenerPort: 80,
  matchedPrefix: '/foo',
};

function locate(
  redirect: MessageInitShape<typeof RequestRedirectSchema>,
  request: Partial<RedirectedRequest> = {},
): string {
  return buildRedirect(create(RequestRedirectSchema, redirect), { ...plain, ...request }).location;
}

describe('the port of a redirect', () => {
  const cases: readonly (readonly [
    string,
    MessageInitShape<typeof RequestRedirectSchema>,
    Partial<RedirectedRequest>,
    string,
  ])[] = [
    ['port 80 on http is left out', {}, {}, 'http://example.com'],
    ['port 443 on https is left out', {}, { scheme: 'https', listenerPort: 443 }, 'https://example.com'],
    ["the listener's port without a scheme", {}, { listenerPort: 8080 }, 'http://example.com:8080'],
    ["the listener's port 443 on http is named", {}, { listenerPort: 443 }, 'http://example.com:443'],
    ['the well-known port of a named scheme', { scheme: 'https' }, { listenerPort: 8080 }, 'https://example.com'],
    ['also when the scheme stays the same', { scheme: 'http' }, { listenerPort: 8080 }, 'http://example.com'],
    ['the port of the redirect itself', { scheme: 'https', port: 8443 }, {}, 'https://example.com:8443'],
    ['its well-known port is left out', { port: 80 }, { listenerPort: 8080 }, 'http://example.com'],
    ['443 on http is named', { port: 443 }, {}, 'http://example.com:443'],
    ['another hostname', { hostname: 'other.test' }, { listenerPort: 8080 }, 'http://other.test:8080'],
    ['an IPv6 literal keeps its brackets', {}, { hostname: '[::1]', listenerPort: 8080 }, 'http://[::1]:8080'],
  ];
  for (const [name, redirect, request, origin] of cases) {
    test(name, () => assert.equal(locate(redirect, request), `${origin}/foo/bar?q=1`));
  }
});

describe('the path of a redirect', () => {
  test('can be replaced as a whole', () => {
    assert.equal(
      locate({ path: { modifier: { case: 'replaceFullPath', value: '/new' } } }),
      'http://example.com/new?q=1',
    );
  });

  test('can have its prefix replaced', () => {
    assert.equal(
      locate({ path: { modifier: { case: 'replacePrefixMatch', value: '/new/' } } }),
      'http://example.com/new/bar?q=1',
    );
    assert.equal(
      locate({ path: { modifier: { case: 'replacePrefixMatch', value: '' } } }, { path: '/foo', query: '' }),
      'http://example.com/',
    );
  });

  test('can never become another host', () => {
    assert.equal(locate({}, { path: '//evil.test/', query: '' }), 'http://example.com//evil.test/');
  });
});

test('the status is the configured one', () => {
  assert.equal(buildRedirect(create(RequestRedirectSchema, { statusCode: 302 }), plain).status, 302);
  assert.equal(buildRedirect(create(RequestRedirectSchema, { statusCode: 301 }), plain).status, 301);
});
