import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HostTable } from '../route/table/hostname.ts';
import type { ListenerConfig } from '../config/runtime-config.ts';
import { isLoopbackAddress, isLoopbackHost } from '../../base/local-names.ts';
import { checkOrigin, findForeignCaller } from './origin-check.ts';

function check(authority: string, origin?: string, isConfiguredHost?: (hostname: string) => boolean): string {
  const verdict = checkOrigin({
    authority,
    origin,
    loopbackListener: true,
    ...(isConfiguredHost === undefined ? {} : { isConfiguredHost }),
  });
  return verdict.ok ? 'ok' : verdict.reason;
}

const listener = (hostname: string, routeHosts: string[]): ListenerConfig =>
  ({
    key: 'k',
    gateway: 'g',
    name: 'n',
    hostname,
    routes: new HostTable(routeHosts.map((host, i) => [host, { i }])),
  }) as unknown as ListenerConfig;
const find = (address: string, served: ListenerConfig, authority: string, ...headers: string[]): string | undefined =>
  findForeignCaller({ authority, headers }, { address }, served)?.reason;

const isConfigured = (hostname: string): boolean => hostname === 'mcp.internal';

describe('Host', () => {
  test('names of this machine pass, with any port', () => {
    for (const host of [
      'localhost',
      'localhost:3000',
      'LOCALHOST:1',
      'app.localhost:3000',
      'localhost.',
      '127.0.0.1',
      '127.0.0.1:3000',
      '127.1.2.3',
      '[::1]',
      '[::1]:3000',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
    ]) {
      assert.equal(check(host), 'ok', host);
    }
  });

  test('all others are foreign', () => {
    for (const host of [
      '',
      'evil.example',
      'localhost.evil.example',
      'notlocalhost',
      '127.0.0.1.evil.example',
      '128.0.0.1',
      '0.0.0.0',
      '[::]',
      '[::2]',
      '[::ffff:10.0.0.1]',
      'user@localhost:x',
      '169.254.169.254',
    ]) {
      assert.equal(check(host), 'host_not_allowed', host);
    }
  });

  test('a configured name passes', () => {
    assert.equal(check('mcp.internal:3000', undefined, isConfigured), 'ok');
    assert.equal(check('MCP.internal', 'https://mcp.internal', isConfigured), 'ok');
    assert.equal(check('other.internal', undefined, isConfigured), 'host_not_allowed');
  });
});

describe('Origin', () => {
  test('pages of this machine pass, whatever their port', () => {
    for (const origin of [
      'http://localhost',
      'http://localhost:6274',
      'https://127.0.0.1:1',
      'http://[::1]:9',
      'http://tool.localhost:80',
    ])
      assert.equal(check('localhost:3000', origin), 'ok', origin);
  });

  test('pages of others do not, nor the ones that hide where they are from', () => {
    for (const origin of [
      'https://evil.example',
      'http://localhost.evil.example',
      'null',
      '',
      'chrome-extension://abc',
      'file://',
      'http://10.0.0.1:3000',
      'http://localhost, https://evil.example',
    ]) {
      assert.equal(check('localhost:3000', origin), 'origin_not_allowed', origin);
    }
  });
});

test('listeners that others can reach by design are not checked', () => {
  assert.deepEqual(checkOrigin({ authority: 'any', origin: 'https://any', loopbackListener: false }), {
    ok: true,
  });
});

test('loopback names and addresses', () => {
  assert.ok(
    isLoopbackAddress('127.0.0.1') &&
      isLoopbackAddress('::1') &&
      isLoopbackAddress('::ffff:127.0.0.1') &&
      isLoopbackAddress('127.255.255.254'),
  );
  assert.ok(
    !isLoopbackAddress('') &&
      !isLoopbackAddress('::') &&
      !isLoopbackAddress('0.0.0.0') &&
      !isLoopbackAddress('localhost') &&
      !isLoopbackAddress('::ffff:128.0.0.1'),
  );
  assert.ok(isLoopbackHost('localhost') && !isLoopbackHost('localhosts'));
});

describe('on a port and a listener', () => {
  test('only loopback ports are checked', () => {
    assert.equal(find('', listener('', ['']), 'evil.example'), undefined);
    assert.equal(find('10.0.0.5', listener('', ['']), 'evil.example'), undefined);
    assert.equal(find('127.0.0.1', listener('', ['']), 'evil.example'), 'host_not_allowed');
    assert.equal(find('::1', listener('', ['']), 'evil.example'), 'host_not_allowed');
  });

  test('hostnames of the listener and of its routes are allowed, a catch-all names nobody', () => {
    assert.equal(find('127.0.0.1', listener('mcp.internal', ['']), 'mcp.internal'), undefined);
    assert.equal(find('127.0.0.1', listener('*.internal', ['']), 'a.internal'), undefined);
    assert.equal(find('127.0.0.1', listener('*.internal', ['']), 'internal'), 'host_not_allowed');
    assert.equal(find('127.0.0.1', listener('', ['mcp.internal', '']), 'mcp.internal:1'), undefined);
    assert.equal(
      find('127.0.0.1', listener('', ['*.internal', '']), 'x.internal', 'Origin', 'https://y.internal'),
      undefined,
    );
    assert.equal(find('127.0.0.1', listener('', ['mcp.internal', '']), 'evil.example'), 'host_not_allowed');
  });

  test('several Origin headers are not a browser’s', () => {
    assert.equal(
      find(
        '127.0.0.1',
        listener('', ['']),
        'localhost',
        'Origin',
        'http://localhost',
        'origin',
        'https://evil.example',
      ),
      'origin_not_allowed',
    );
    assert.equal(find('127.0.0.1', listener('', ['']), 'localhost', 'Origin', 'http://localhost'), undefined);
  });
});
