import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatRequestUrl, readRequestLine } from './request-line.ts';

describe('readRequestLine', () => {
  test('a method and a URL, with the path as it was typed', () => {
    assert.deepEqual(readRequestLine('GET https://MCP.example.com:8443/a/../b%2f?x=1&x=2'), {
      ok: true,
      line: {
        method: 'GET',
        scheme: 'https',
        authority: 'MCP.example.com:8443',
        hostname: 'mcp.example.com',
        port: 8443,
        target: '/a/../b%2f?x=1&x=2',
      },
    });
  });

  test('a URL alone is a POST; without a path it is the root', () => {
    for (const [text, target] of [
      ['http://h', '/'],
      ['  http://h/  ', '/'],
      ['http://h?q', '/?q'],
    ] as const) {
      const read = readRequestLine(text);
      assert.ok(read.ok);
      assert.deepEqual([read.line.method, read.line.target, read.line.port], ['POST', target, undefined]);
    }
  });

  test('an IPv6 address keeps its brackets', () => {
    const read = readRequestLine('POST http://[::1]:3000/mcp');
    assert.ok(read.ok);
    assert.deepEqual([read.line.hostname, read.line.port], ['[::1]', 3000]);
  });

  test('what is no request says so', () => {
    for (const text of [
      '',
      'POST',
      '/mcp',
      'POST /mcp',
      'ftp://h/',
      'POST http://',
      'POST http://a b/',
      'POST http://h/#x',
    ])
      assert.match(
        readRequestLine(text).ok ? '' : (readRequestLine(text) as { problem: string }).problem,
        /is not a method and a URL/,
        text,
      );
    for (const text of ['POST http://h:99999/', 'POST http://u:p@h/', 'POST http://-.-:x/'])
      assert.equal(readRequestLine(text).ok, false, text);
  });

  test('property: never throws, and what it reads it writes again', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        readRequestLine(text);
      }),
    );
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true }), (url) => {
        const read = readRequestLine(`GET ${url}`);
        if (!read.ok) return;
        assert.equal(URL.parse(formatRequestUrl(read.line))?.href, URL.parse(url)?.href);
      }),
    );
  });
});
