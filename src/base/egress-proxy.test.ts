import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseProxy, type EgressProxy, readEgressProxy } from './egress-proxy.ts';

function read(environment: Record<string, string>): EgressProxy | undefined {
  const reading = readEgressProxy(environment);
  assert.ok(reading.ok, reading.ok ? '' : reading.problem);
  return reading.proxy;
}

function choose(environment: Record<string, string>, url: string): string | undefined {
  return chooseProxy(read(environment), new URL(url))?.href;
}

describe('variables', () => {
  test('none', () => {
    assert.equal(read({}), undefined);
    assert.equal(read({ HTTPS_PROXY: '', https_proxy: ' ', NO_PROXY: '*' }), undefined);
  });

  test('each scheme has its own', () => {
    const environment = { HTTPS_PROXY: 'http://one:3128', HTTP_PROXY: 'http://two:3128' };
    assert.equal(choose(environment, 'https://idp.example.com/'), 'http://one:3128/');
    assert.equal(choose(environment, 'http://idp.example.com/'), 'http://two:3128/');
    assert.equal(choose({ HTTPS_PROXY: 'http://one:3128' }, 'http://idp.example.com/'), undefined);
  });

  test('lower case wins, an empty one is none, a scheme may be missing', () => {
    assert.equal(choose({ https_proxy: 'low:1', HTTPS_PROXY: 'http://up:1' }, 'https://a.example/'), 'http://low:1/');
    assert.equal(choose({ https_proxy: '', HTTPS_PROXY: 'http://up:1' }, 'https://a.example/'), 'http://up:1/');
  });

  test('what cannot be a proxy is refused by its name, without its value', () => {
    for (const [value, expected] of [
      ['http://', /^HTTPS_PROXY: must be the URL of a proxy, such as http:\/\/proxy\.example\.com:3128$/],
      ['socks5://u:secret@proxy:1080', /^HTTPS_PROXY: proxies of the kind socks5:\/\/ are not supported/],
      ['http://u:secret@proxy/path', /^HTTPS_PROXY: must have no path/],
      ['http://u:secret%@proxy', /^HTTPS_PROXY: has a user or password/],
    ] as const) {
      const reading = readEgressProxy({ HTTPS_PROXY: value });
      assert.ok(!reading.ok, value);
      assert.match(reading.problem, expected);
      assert.doesNotMatch(reading.problem, /secret/);
    }
    const lower = readEgressProxy({ http_proxy: 'ftp://x' });
    assert.match(lower.ok ? '' : lower.problem, /^http_proxy: /);
  });
});

describe('NO_PROXY', () => {
  for (const [entry, direct, proxied] of [
    ['*', ['https://a.example/'], []],
    ['example.com', ['https://example.com/', 'https://idp.example.com./'], ['https://badexample.com/']],
    ['.example.com', ['https://example.com/', 'https://idp.example.com/'], ['https://example.org/']],
    ['*.example.com', ['https://idp.example.com/'], ['https://example.org/']],
    ['EXAMPLE.com', ['https://Idp.Example.COM/'], []],
    ['example.com:8443', ['https://example.com:8443/'], ['https://example.com/']],
    ['example.com:443', ['https://example.com/'], ['https://example.com:8443/']],
    ['10.0.0.0/8', ['https://10.1.2.3/'], ['https://11.1.2.3/', 'https://10.example.com/']],
    ['10.1.2.3', ['https://10.1.2.3/'], ['https://10.1.2.4/']],
    ['10.1.2.3:8443', ['https://10.1.2.3:8443/'], ['https://10.1.2.3/']],
    ['2001:db8::/32', ['https://[2001:db8::1]/'], ['https://[2001:db9::1]/']],
    ['[2001:db8::1]:8443', ['https://[2001:db8::1]:8443/'], ['https://[2001:db8::1]/']],
    ['a.example, b.example  c.example', ['https://b.example/', 'https://c.example/'], ['https://d.example/']],
    ['', [], ['https://a.example/']],
    [':::', [], ['https://a.example/', 'https://[2001:db8::1]/']],
  ] as const)
    test(`"${entry}"`, () => {
      const environment = { HTTPS_PROXY: 'http://proxy:1', NO_PROXY: entry };
      for (const url of direct) assert.equal(choose(environment, url), undefined, url);
      for (const url of proxied) assert.equal(choose(environment, url), 'http://proxy:1/', url);
    });

  test('loopback and cluster names never go through a proxy', () => {
    for (const host of [
      'localhost',
      'idp.localhost',
      '127.0.0.1',
      '127.9.9.9',
      '[::1]',
      'dex.auth.svc',
      'dex.auth.svc.cluster.local',
    ])
      assert.equal(choose({ HTTPS_PROXY: 'http://proxy:1' }, `https://${host}:8443/`), undefined, host);
  });
});
