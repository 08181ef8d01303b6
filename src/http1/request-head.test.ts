import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Http1Error } from './http1-error.ts';
import { areLinesClean } from './line-characters.ts';
import { isValidAuthority, judgeRequest, readRequestHead } from './request-head.ts';

type Lines = [method: string, url: string, headers: string[], httpVersion?: '1.0' | '1.1'];

const accept = (...[method, url, headers, httpVersion = '1.1']: Lines) =>
  judgeRequest(method, url, httpVersion, headers);

function refuse(...lines: Lines): string {
  try {
    accept(...lines);
  } catch (error) {
    if (error instanceof Http1Error) return error.code;
    throw error;
  }
  return 'accepted';
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
    assert.equal(accept('POST', '/', ['Host', 'x', 'Transfer-Encoding', 'Chunked']).bodyLength, -1);
    assert.equal(accept('POST', '/', ['Host', 'x', 'Content-Length', '10']).bodyLength, 10);
    assert.equal(accept('POST', '/', ['Host', 'x', 'Content-Length', '0']).bodyLength, 0);
    assert.equal(accept('GET', '/', ['Host', 'x']).bodyLength, 0);
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

describe('whether the client may ask again', () => {
  test('1.1 unless it says close, 1.0 only if it says keep-alive', () => {
    assert.equal(accept('GET', '/', ['Host', 'x']).keepsAlive, true);
    assert.equal(accept('GET', '/', ['Host', 'x', 'Connection', 'foo, Close']).keepsAlive, false);
    assert.equal(
      accept('GET', '/', ['Host', 'x', 'Connection', 'keep-alive', 'Connection', 'close']).keepsAlive,
      false,
    );
    assert.equal(accept('GET', '/', [], '1.0').keepsAlive, false);
    assert.equal(accept('GET', '/', ['Connection', 'Keep-Alive'], '1.0').keepsAlive, true);
    assert.equal(accept('GET', '/', ['Connection', 'keep-alive, close'], '1.0').keepsAlive, false);
  });
});

describe('the text of a head', () => {
  const read = (text: string) => {
    const bytes = Buffer.from(text, 'latin1');
    if (!areLinesClean(bytes, 0, bytes.length)) throw new Http1Error('bad_request', 'a control character');
    return readRequestHead(text, 100, { url: '', authority: '' });
  };
  const refused = (text: string): string => {
    try {
      read(text);
    } catch (error) {
      if (error instanceof Http1Error) return error.code;
      throw error;
    }
    return 'accepted';
  };

  test('is taken apart', () => {
    const head = read('POST /a?b HTTP/1.1\r\nHost: x\r\nX-Empty:\r\nX-Blank: \t a b \t\r\nContent-Length: 3\r\n\r\n');
    assert.deepEqual([head.method, head.target, head.httpVersion, head.bodyLength], ['POST', '/a?b', '1.1', 3]);
    assert.deepEqual(head.headers, ['Host', 'x', 'X-Empty', '', 'X-Blank', 'a b', 'Content-Length', '3']);
  });

  test('has nothing in it that could be read in two ways', () => {
    for (const text of [
      'GET  / HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET / HTTP/1.1 \r\nHost: x\r\n\r\n',
      'GET /\r\nHost: x\r\n\r\n',
      'GET / HTTP/1.2\r\nHost: x\r\n\r\n',
      'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
      'GET / http/1.1\r\nHost: x\r\n\r\n',
      'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n',
      'get / HTTP/1.1\r\nHost: x\r\n\r\n',
      'NEW / HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /\xe9 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET / HTTP/1.1\r\n Host: x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA: \x7f\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA\xe9: b\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nA\r\n\r\n',
    ])
      assert.equal(refused(text), 'bad_request', JSON.stringify(text));
  });

  test('has so many fields and no more', () => {
    const fields = (count: number): string => `GET / HTTP/1.1\r\nHost: x\r\n${'a: 1\r\n'.repeat(count)}\r\n`;
    assert.equal(refused(fields(99)), 'accepted');
    assert.equal(refused(fields(100)), 'too_many_headers');
  });
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
      fc.constantFrom('1.0' as const, '1.1' as const),
      (verb, target, pairs, version) => {
        if (refuse(verb, target, pairs.flat(), version) !== 'accepted') return;
        const head = accept(verb, target, pairs.flat(), version);
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

test('a target and an authority that come again are the same strings again', () => {
  const before = { url: '', authority: '' };
  const read = (target: string, host: string): void => {
    const head = readRequestHead(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 100, before);
    assert.deepEqual([head.target, head.authority], [target, host]);
    assert.deepEqual(before, { url: target, authority: host });
  };
  for (const target of ['/a', '/a', '/b', '/a']) for (const host of ['x', 'x', 'y:80']) read(target, host);
  // What was valid before says nothing about another.
  assert.throws(() => read('/a', 'y:80 '.repeat(2)), Http1Error);
  const absolute = readRequestHead('GET http://z/c HTTP/1.1\r\nHost: y\r\n\r\n', 100, before);
  assert.deepEqual([absolute.target, absolute.authority], ['/c', 'z']);
  read('/c', 'y');
});
