import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readTarget } from './request-target.ts';
import { effort } from '../../../test/kit/effort.ts';

function read(target: string): string | undefined {
  const result = readTarget(target);
  return result.ok ? `${result.path}${result.query}` : undefined;
}

describe('readTarget', () => {
  const normalForms: readonly (readonly [string, string])[] = [
    ['/', '/'],
    ['/mcp', '/mcp'],
    ['/%6dcp', '/mcp'],
    ['/%6Dcp', '/mcp'],
    ['/MCP', '/MCP'],
    ['//mcp', '//mcp'],
    ['/a//b/', '/a//b/'],
    ['/mcp;x=1', '/mcp;x=1'],
    ['/x/../mcp', '/mcp'],
    ['/x/%2e%2E/mcp', '/mcp'],
    ['/x/.%2e/mcp', '/mcp'],
    ['/./mcp', '/mcp'],
    ['/a/.', '/a/'],
    ['/a/..', '/'],
    ['/..', '/'],
    ['/../../etc/passwd', '/etc/passwd'],
    ['/a/b/c/./../../g', '/a/g'],
    ['/a//../b', '/a/b'],
    ['/..//a', '//a'],
    ['/...', '/...'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a.b/..c', '/a.b/..c'],
    ['/a%2fb', '/a%2Fb'],
    ['/a%2Fb', '/a%2Fb'],
    ['/%c3%a9', '/%C3%A9'],
    ['/a%252e', '/a%252e'],
    ['/%7euser', '/~user'],
    ['/a|b', '/a%7Cb'],
    ['/a%7cb', '/a%7Cb'],
    ['/{id}', '/%7Bid%7D'],
    ['/a?b', '/a?b'],
    ['/a?', '/a?'],
    ['/%61?%61=%zz&c=../d\\|', '/a?%61=%zz&c=../d\\|'],
    ['/a?x=/../b?c', '/a?x=/../b?c'],
  ];
  for (const [target, expected] of normalForms) {
    test(`reads ${target} as ${expected}`, () => assert.equal(read(target), expected));
  }

  const refused = [
    '', 'mcp', '*', 'http://example.com/', 'example.com:443', '?x', '#', '/#', '/a#b', '/a?b#c', '/a b', '/a\tb', '/a\r\nb', '/a\0',
    '/a?b c', '/a?b\n', '/é', '/a?é', '/a\\b', '/..\\a', '/%', '/%a', '/%zz', '/a%2', '/%00', '/a%00b', '/\u007f',
    '/public/..;/admin', '/public/..%2Fadmin', '/public/%2e%2e%2fadmin', '/a/b%2F..', '/a%5c..%5cb', '/.;x/a',
  ]; // prettier-ignore
  for (const target of refused) {
    test(`refuses ${JSON.stringify(target)}`, () => {
      const result = readTarget(target);
      assert.equal(result.ok, false);
      assert.match(result.detail, /^the (target|path|query) /);
    });
  }

  test('takes * for OPTIONS only', () => {
    assert.deepEqual(readTarget('*', 'OPTIONS'), { ok: true, path: '*', query: '' });
    assert.equal(readTarget('*', 'GET').ok, false);
  });
});

describe('the normal form', () => {
  const piece = fc.constantFrom(
    'a', 'B', '.', '..', '/', '//', '%2e', '%2E', '%2f', '%2F', '%5c', '%6d', '%41', '%25', '%00', ';', ';x=1', '?', '|', '[', '~', '%7e', '%', 'é', ' ', '\\', '%c3%A9', '#',
  ); // prettier-ignore
  const target = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`),
    fc.string({ unit: 'binary-ascii' }).map((text) => `/${text}`),
  );

  test('is read as itself: what router and policies see is what the upstream would see', () => {
    fc.assert(
      fc.property(target, (text) => {
        const first = readTarget(text);
        if (!first.ok) return;
        assert.deepEqual(readTarget(`${first.path}${first.query}`), first);
      }),
      { numRuns: effort(20_000) },
    );
  });

  test('has no dot segment, no lower-case escape, no escaped unreserved character, and nothing a request line cannot carry', () => {
    fc.assert(
      fc.property(target, (text) => {
        const result = readTarget(text);
        if (!result.ok) return;
        assert.match(`${result.path}${result.query}`, /^\/[!-~]*$/);
        for (const segment of result.path.split('/')) assert.ok(segment !== '.' && segment !== '..');
        for (const [, digits] of result.path.matchAll(/%(..)/g)) {
          assert.equal(digits, digits!.toUpperCase());
          assert.doesNotMatch(String.fromCharCode(Number.parseInt(digits, 16)), /[A-Za-z0-9\-._~]/);
        }
      }),
      { numRuns: effort(20_000) },
    );
  });

  test('agrees with the URL standard about dot segments', () => {
    const simple = fc.array(fc.constantFrom('a', 'b', '.', '..', '', '%2e', '%2E.'), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(simple, (segments) => {
        const text = `/${segments.join('/')}`;
        assert.equal(read(text), new URL(`http://host${text}`).pathname);
      }),
      { numRuns: effort(5_000) },
    );
  });
});
