import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isValidAuthority, readHttp1RequestHead } from './http1-request-head.ts';

const judge = (method: string, url: string, rawHeaders: string[], httpVersion = '1.1') =>
  readHttp1RequestHead({ method, url, httpVersion, rawHeaders }, 100);

function accept(...parts: Parameters<typeof judge>) {
  const head = judge(...parts);
  assert.equal(head.kind, 'accepted');
  return head;
}

function refuse(...parts: Parameters<typeof judge>) {
  const head = judge(...parts);
  assert.equal(head.kind, 'refused');
  return head.reason;
}

describe('targets', () => {
  test('origin form is taken as it is', () => {
    for (const target of ['/', '/a?b', '//evil.test/x', '/http://x/', '/%2e%2e/', '/a#b', '/?']) {
      assert.equal(accept('GET', target, ['Host', 'x']).target, target);
    }
  });

  test('absolute form', () => {
    const cases: [string, string, string, string][] = [
      ['GET', 'http://a.test/p', '/p', 'a.test'],
      ['GET', 'HTTPS://a.test:8443', '/', 'a.test:8443'],
      ['GET', 'http://a.test?q', '/?q', 'a.test'],
      ['GET', 'http://[::1]:80/p', '/p', '[::1]:80'],
      ['OPTIONS', 'http://a.test', '*', 'a.test'],
      ['OPTIONS', 'http://a.test/', '/', 'a.test'],
    ];
    for (const [method, url, target, authority] of cases) {
      const head = accept(method, url, ['Host', 'other.test']);
      assert.deepEqual([head.target, head.authority], [target, authority]);
    }
  });

  test('anything else is refused', () => {
    for (const url of [
      '*',
      'a',
      'ftp://a/',
      'http:/a',
      'http://',
      'http:///p',
      'http://u@a/',
      'http://a b/',
      'javascript:1',
      '',
    ]) {
      assert.equal(refuse('GET', url, ['Host', 'x']), 'bad_target');
    }
    assert.equal(refuse('CONNECT', 'http://a/', ['Host', 'x']), 'bad_target');
  });
});

describe('framing', () => {
  test('a body is announced by chunked or a positive length', () => {
    assert.equal(accept('POST', '/', ['Host', 'x', 'Transfer-Encoding', 'Chunked']).hasBody, true);
    assert.equal(accept('POST', '/', ['Host', 'x', 'Content-Length', '10']).hasBody, true);
    assert.equal(accept('POST', '/', ['Host', 'x', 'Content-Length', '0']).hasBody, false);
    assert.equal(accept('GET', '/', ['Host', 'x']).hasBody, false);
  });

  test('whatever could be read in two ways is refused', () => {
    for (const headers of [
      ['Transfer-Encoding', 'chunked', 'Content-Length', '1'],
      ['Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'],
      ['Transfer-Encoding', 'gzip, chunked'],
      ['Content-Length', '1', 'content-length', '1'],
      ['Content-Length', '+1'],
      // It goes upstream as a number, which cannot tell these from their neighbours.
      ['Content-Length', '9007199254740993'],
      ['Content-Length', '18446744073709551615'],
      ['Content-Length', '1 '],
    ]) {
      assert.equal(refuse('POST', '/', ['Host', 'x', ...headers]), 'bad_request');
    }
    assert.equal(refuse('POST', '/', ['Host', 'x', 'Transfer-Encoding', 'chunked'], '1.0'), 'bad_request');
  });
});

describe('Host', () => {
  test('1.0 may leave it out, 1.1 may not', () => {
    assert.equal(accept('GET', '/', [], '1.0').authority, '');
    assert.equal(refuse('GET', '/', []), 'missing_host');
    assert.equal(accept('GET', '/', ['Host', '']).authority, '');
  });

  test('it must be a host and perhaps a port', () => {
    for (const host of ['a', 'a.b', 'A-1.b_c', 'a.:80', '127.0.0.1:1', '[::1]', '[::ffff:1.2.3.4]:65535']) {
      assert.equal(isValidAuthority(host), true, host);
    }
    for (const host of [
      '',
      'a:',
      'a:b',
      'a:123456',
      'a@b',
      'a/b',
      'a b',
      'a,b',
      '[::1',
      '::1',
      'a\tb',
      'é',
      'a?b',
      'a#b',
      'a\\b',
    ]) {
      assert.equal(isValidAuthority(host), false, host);
    }
  });
});

const upgrade = (...headers: string[]) => accept('GET', '/', ['Host', 'x', ...headers]).upgradeProtocol;

describe('upgrade', () => {
  test('needs both headers and one protocol worth switching to', () => {
    assert.equal(upgrade('Connection', 'keep-alive, Upgrade', 'Upgrade', 'WebSocket'), 'websocket');
    assert.equal(upgrade('Upgrade', 'websocket'), undefined);
    assert.equal(upgrade('Connection', 'upgrade'), undefined);
    assert.equal(upgrade('Connection', 'upgrade', 'Upgrade', 'h2c'), undefined);
    assert.equal(upgrade('Connection', 'upgrade', 'Upgrade', 'TLS/1.0'), undefined);
    assert.equal(upgrade('Connection', 'upgrade', 'Upgrade', 'websocket, foo'), undefined);
    assert.equal(upgrade('Connection', 'upgrade', 'Upgrade', 'websocket', 'Content-Length', '5'), undefined);
  });
});

test('too many fields', () => {
  const fields = Array.from({ length: 101 }, () => ['x', '1']).flat();
  assert.equal(refuse('GET', '/', fields), 'too_many_headers');
});

test('a verdict for every input, and an accepted one is never ambiguous', () => {
  const name = fc.oneof(
    fc.constantFrom('Host', 'host', 'Content-Length', 'Transfer-Encoding', 'Upgrade', 'Connection'),
    fc.string(),
  );
  const value = fc.oneof(fc.constantFrom('chunked', '1', '0', 'x.test', 'upgrade', 'websocket'), fc.string());
  const url = fc.oneof(fc.webUrl(), fc.webPath(), fc.string());
  const method = fc.constantFrom('GET', 'POST', 'OPTIONS', 'CONNECT');
  fc.assert(
    fc.property(
      method,
      url,
      fc.array(fc.tuple(name, value)),
      fc.constantFrom('1.0', '1.1', '2.0'),
      (verb, target, pairs, version) => {
        const head = judge(verb, target, pairs.flat(), version);
        if (head.kind === 'refused') return;
        assert.ok(head.target.startsWith('/') || head.target === '*' || (head.target === '' && verb === 'CONNECT'));
        assert.ok(head.authority === '' || isValidAuthority(head.authority));
        const count = (wanted: string): number => pairs.filter(([key]) => key.toLowerCase() === wanted).length;
        assert.ok(count('host') <= 1);
        assert.ok(count('content-length') + count('transfer-encoding') <= 1);
      },
    ),
    { numRuns: 500 },
  );
});
