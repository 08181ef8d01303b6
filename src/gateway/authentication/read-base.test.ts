import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TrustedProxies, viewClient } from '../http/client-view.ts';
import type { ResourceHost } from '../config/protected-resource.ts';
import { dependsOnRequest, formatFacadeIssuer, formatResourceUrl, readBase } from './read-base.ts';
import { createContext, createResource } from './testing/auth-fixture.ts';

const lies = [
  'x-forwarded-proto', 'http', 'x-forwarded-host', 'evil.example', 'x-forwarded-port', '81', 'forwarded', 'host=evil.example',
]; // prettier-ignore

function readThrough(
  request: Parameters<typeof createContext>[0],
  host: ResourceHost,
  trustedProxies?: TrustedProxies,
): string {
  const { exchange } = createContext(request).context;
  return readBase({ exchange, client: viewClient(exchange, trustedProxies) }, { host });
}

const exact: ResourceHost = { kind: 'exact', hostname: 'mcp.example.com', port: 8443 };
const foreignHosts = [
  'evil.example',
  'evil.example:1',
  'mcp.example.com:9999',
  'MCP.EXAMPLE.COM',
  '',
  'a b',
  '[::1]:8443',
];

describe('readBase', () => {
  test('is the configured hostname on the port of the listener, whatever the request says', () => {
    for (const authority of foreignHosts)
      for (const headers of [[], lies])
        for (const isTrusted of [undefined, () => false])
          assert.equal(
            readThrough({ authority, headers }, exact, isTrusted),
            'https://mcp.example.com:8443',
            authority,
          );
  });

  test('leaves out a port that goes without saying', () => {
    const onPort = (port: number): ResourceHost => ({ kind: 'exact', hostname: 'mcp.example.com', port });
    assert.equal(readThrough({ scheme: 'https' }, onPort(443)), 'https://mcp.example.com');
    assert.equal(readThrough({ scheme: 'http' }, onPort(80)), 'http://mcp.example.com');
    assert.equal(readThrough({ scheme: 'http' }, onPort(443)), 'http://mcp.example.com:443');
  });

  test('believes a trusted proxy in scheme and port, and never in the host', () => {
    const through = (headers: readonly string[], host: ResourceHost = exact): string =>
      readThrough({ headers, scheme: 'http', remoteAddress: '10.0.0.1' }, host, (address) => address === '10.0.0.1');
    assert.equal(through(['X-Forwarded-Proto', 'https, http']), 'https://mcp.example.com');
    assert.equal(through(['X-Forwarded-Proto', 'https', 'X-Forwarded-Port', '444']), 'https://mcp.example.com:444');
    assert.equal(through(['X-Forwarded-Host', 'public.example']), 'http://mcp.example.com');
    assert.equal(through(['x-forwarded-proto', 'javascript', 'x-forwarded-port', '0']), 'http://mcp.example.com');
    const loopback: ResourceHost = { kind: 'loopback', port: 3000 };
    assert.equal(
      through(['x-forwarded-proto', 'https', 'x-forwarded-host', 'evil.example'], loopback),
      'https://localhost',
    );
  });

  test('on a loopback listener it is the name of this machine that was asked for, and no other', () => {
    const read = (authority: string): string =>
      readThrough({ authority, scheme: 'http' }, { kind: 'loopback', port: 3000 });
    for (const [authority, base] of [
      ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
      ['localhost:3000', 'http://localhost:3000'],
      ['LOCALHOST', 'http://localhost:3000'],
      ['app.localhost:9', 'http://app.localhost:3000'],
      ['[::1]:3000', 'http://[::1]:3000'],
      ['2130706433:3000', 'http://127.0.0.1:3000'],
    ] as const)
      assert.equal(read(authority), base);
    for (const authority of ['evil.example', '128.0.0.1', 'localhost.evil.example', 'user@localhost', ''])
      assert.match(read(authority), /^http:\/\/localhost:3000$/, authority);
  });

  test('is the configured resource first of all', () => {
    const resource = createResource({ message: { resource: 'https://public.example/tools/mcp' } });
    for (const authority of foreignHosts)
      assert.equal(
        readThrough({ authority, headers: lies }, resource.host, () => true),
        'https://public.example',
      );
    assert.equal(formatResourceUrl('https://public.example', resource), 'https://public.example/tools/mcp');
    assert.equal(dependsOnRequest(resource), false);
    assert.equal(dependsOnRequest(createResource()), true);
  });

  test('is what Host says only where nothing is compared with it', () => {
    const asked: ResourceHost = { kind: 'asked' };
    assert.equal(readThrough({ authority: 'Any.Example:443', headers: lies }, asked), 'https://any.example');
  });
});

test('identifiers: the resource and the facade carry the path, the root form the base alone', () => {
  const resource = createResource();
  assert.equal(formatResourceUrl('https://a.example', resource), 'https://a.example/mcp');
  assert.equal(formatFacadeIssuer('https://a.example', resource), 'https://a.example/mcp');
  assert.equal(formatFacadeIssuer('https://a.example', resource, true), 'https://a.example');
  assert.equal(formatFacadeIssuer('https://a.example', createResource({ path: '' })), 'https://a.example');
});
