import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatEndpointPath, formatMetadataPath, listOwnPaths, listRootPaths } from './endpoint-paths.ts';

function print(paths: readonly { form: string; path: string; isRootForm: boolean }[]): string[] {
  return paths.map(({ form, path, isRootForm }) => `${path} ${form}${isRootForm ? ' (root)' : ''}`);
}

describe('paths that carry the path of the resource', () => {
  test('are all forms of the design for /mcp', () => {
    assert.deepEqual(print(listOwnPaths('/mcp')), [
      '/.well-known/oauth-protected-resource/mcp protected-resource-metadata',
      '/.well-known/oauth-protected-resource/mcp/ protected-resource-metadata',
      '/.well-known/oauth-authorization-server/mcp authorization-server-metadata',
      '/.well-known/oauth-authorization-server/mcp/ authorization-server-metadata',
      '/.well-known/openid-configuration/mcp openid-configuration',
      '/.well-known/openid-configuration/mcp/ openid-configuration',
      '/.oauth/mcp/register register',
      '/.oauth/mcp/authorize authorize',
      '/.oauth/mcp/consent consent',
      '/.oauth/mcp/callback callback',
      '/.oauth/mcp/token token',
      '/.oauth/mcp/revoke revoke',
      '/.oauth/mcp/jwks jwks',
      '/mcp/.well-known/openid-configuration openid-configuration',
    ]);
  });

  test('are the root forms for a resource at the root, each once', () => {
    const paths = listOwnPaths('').map(({ path }) => path);
    assert.ok(paths.includes('/.well-known/oauth-protected-resource'));
    assert.ok(paths.includes('/.oauth/token'));
    assert.equal(new Set(paths).size, paths.length);
  });
});

describe('paths without the path of the resource', () => {
  const free = (): boolean => false;

  test('do not exist on a host with several configurations', () => {
    assert.deepEqual(listRootPaths({ path: '/a', isOnlyOne: false, isOnlyConfiguration: false }, free), []);
  });

  test('lead to the authorization server when there is one configuration, whatever it protects', () => {
    assert.deepEqual(print(listRootPaths({ path: '/a', isOnlyOne: false, isOnlyConfiguration: true }, free)), [
      '/.well-known/oauth-authorization-server authorization-server-metadata (root)',
      '/.well-known/oauth-authorization-server/ authorization-server-metadata (root)',
      '/.well-known/openid-configuration openid-configuration (root)',
      '/.well-known/openid-configuration/ openid-configuration (root)',
      '/.oauth/register register (root)',
      '/.oauth/authorize authorize (root)',
      '/.oauth/consent consent (root)',
      '/.oauth/token token (root)',
      '/.oauth/revoke revoke (root)',
      '/.oauth/jwks jwks (root)',
      '/register register (root)',
      '/authorize authorize (root)',
      '/token token (root)',
    ]);
  });

  test('lead to the resource when it is the only one', () => {
    const paths = listRootPaths({ path: '/a', isOnlyOne: true, isOnlyConfiguration: true }, free);
    assert.equal(paths[0]?.path, '/.well-known/oauth-protected-resource');
  });

  test('that clients guess are never in the way of a route', () => {
    const owner = { path: '/a', isOnlyOne: true, isOnlyConfiguration: true };
    const paths = new Set(listRootPaths(owner, (path) => path === '/register').map(({ path }) => path));
    assert.ok(!paths.has('/register'));
    assert.ok(paths.has('/token') && paths.has('/.oauth/register'));
  });
});

test('what metadata and challenge name is among the paths', () => {
  for (const path of ['', '/mcp', '/a/b']) {
    const own = new Set(listOwnPaths(path).map((each) => each.path));
    assert.ok(own.has(formatMetadataPath(path)));
    for (const name of ['register', 'authorize', 'consent', 'callback', 'token', 'revoke', 'jwks'] as const)
      assert.ok(own.has(formatEndpointPath(path, name)));
  }
});
