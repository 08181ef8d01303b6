import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TrustedProxies, viewClient } from '../../client-view.ts';
import { dependsOnHost, formatFacadeIssuer, formatResourceUrl, readBase } from './read-base.ts';
import { createContext, createResource } from './testing/auth-fixture.ts';

const poison = ['x-forwarded-proto', 'http', 'x-forwarded-host', 'evil.example', 'forwarded', 'host=evil.example'];

function readThrough(
  request: Parameters<typeof createContext>[0],
  trustedProxies: TrustedProxies | undefined,
  resource = createResource(),
): string {
  const { exchange } = createContext(request).context;
  return readBase({ exchange, client: viewClient(exchange, trustedProxies) }, resource);
}

describe('readBase', () => {
  test('is what the connection and Host say, as URL parsers write it', () => {
    const read = (authority: string, scheme: 'http' | 'https' = 'https'): string =>
      readBase(createContext({ authority, scheme }).context, createResource());
    assert.equal(read('mcp.example.com'), 'https://mcp.example.com');
    assert.equal(read('MCP.Example.COM:443'), 'https://mcp.example.com');
    assert.equal(read('127.0.0.1:8080', 'http'), 'http://127.0.0.1:8080');
    assert.equal(read('[::1]:8080', 'http'), 'http://[::1]:8080');
  });

  test('does not believe forwarded headers of just anybody', () => {
    assert.equal(readThrough({ headers: poison }, undefined), 'https://mcp.example.com');
    assert.equal(
      readThrough({ headers: poison }, () => false),
      'https://mcp.example.com',
    );
  });

  test('believes those of a trusted proxy, the first value of each', () => {
    const headers = ['X-Forwarded-Proto', 'https, http', 'X-Forwarded-Host', 'public.example, inner.example'];
    const request = { headers, scheme: 'http', remoteAddress: '10.0.0.1' } as const;
    assert.equal(
      readThrough(request, (address) => address === '10.0.0.1'),
      'https://public.example',
    );
  });

  test('leaves out what a trusted proxy passes on that is no scheme or host', () => {
    const headers = ['x-forwarded-proto', 'javascript', 'x-forwarded-host', 'a/b"c'];
    assert.equal(
      readThrough({ headers }, () => true),
      'https://mcp.example.com',
    );
  });

  test('is the configured resource first of all', () => {
    const resource = createResource({ message: { resource: 'https://public.example/tools/mcp' } });
    assert.equal(
      readThrough({ headers: poison }, () => true, resource),
      'https://public.example',
    );
    assert.equal(formatResourceUrl('https://public.example', resource), 'https://public.example/tools/mcp');
    assert.equal(dependsOnHost(resource), false);
    assert.equal(dependsOnHost(createResource()), true);
  });
});

test('identifiers: the resource and the facade carry the path, the root form the base alone', () => {
  const resource = createResource();
  assert.equal(formatResourceUrl('https://a.example', resource), 'https://a.example/mcp');
  assert.equal(formatFacadeIssuer('https://a.example', resource), 'https://a.example/mcp');
  assert.equal(formatFacadeIssuer('https://a.example', resource, true), 'https://a.example');
  assert.equal(formatFacadeIssuer('https://a.example', createResource({ path: '' })), 'https://a.example');
});
