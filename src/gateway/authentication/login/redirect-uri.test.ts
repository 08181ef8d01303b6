import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  appendToRedirectUri,
  describeRedirectTarget,
  findRedirectUriProblem,
  isLoopbackRedirect,
  isOwnedRedirect,
  isSameRedirectUri,
  matchesRedirectUri,
  maxRedirectUriLength,
} from './redirect-uri.ts';

describe('a redirect URI that may be registered', () => {
  for (const uri of [
    'https://app.example.com/callback',
    'https://app.example.com:8443/callback?tenant=a',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:33418/',
    'http://[::1]:9000/callback',
    'http://localhost:3000/oauth/callback',
  ])
    test(uri, () => assert.equal(findRedirectUriProblem(uri, []), undefined));

  const refused: readonly (readonly [string, RegExp])[] = [
    ['http://app.example.com/callback', /must use https/],
    ['http://127.0.0.1.evil.example/callback', /must use https/],
    ['http://localhost.evil.example/callback', /must use https/],
    ['https://app.example.com/callback#x', /fragment/],
    ['https://app.example.com/callback#', /fragment/],
    ['javascript:alert(1)', /never allowed/],
    ['JavaScript:alert(1)', /never allowed/],
    ['data:text/html,x', /never allowed/],
    ['vbscript:x', /never allowed/],
    ['file:///etc/passwd', /never allowed/],
    ['blob:https://app.example.com/x', /never allowed/],
    ['https://user:pw@app.example.com/cb', /user name/],
    ['https://app.example.com@evil.example/cb', /user name/],
    ['/callback', /absolute/],
    ['callback', /absolute/],
    ['', /absolute/],
    ['https://', /absolute/],
    ['https:///cb', /must name its host/],
    ['https:////evil.example/cb', /must name its host/],
    ['https:cb', /must name its host/],
    ['https:/evil.example/cb', /must name its host/],
    ['https:evil.example', /must name its host/],
    ['http:127.0.0.1/cb', /must name its host/],
    ['https://%65vil.example/cb', /must name its host/],
    ['https://evil.example:/cb', /must name its host/],
    ['https://evil.example:0/cb', /must name its host/],
    ['https://.example/cb', /must name its host/],
    ['https://@evil.example/cb', /user name/],
    ['https://:@evil.example/cb', /user name/],
    ['https://app.example.com:443@evil.example/cb', /user name/],
    ['https://app.example.com/a b', /absolute/],
    ['https://app.example.com\\@evil.example/', /absolute/],
    ['https://app.example.com/\r\nset-cookie:x', /absolute/],
    ['https://exämple.com/', /ASCII/],
    ['cursor://anysphere.cursor-mcp/oauth/callback', /only for redirect URIs that the operator/],
    [`https://app.example.com/${'a'.repeat(maxRedirectUriLength)}`, /characters at most/],
  ];
  for (const [uri, problem] of refused)
    test(`not ${JSON.stringify(uri.slice(0, 60))}`, () => assert.match(findRedirectUriProblem(uri, []) ?? '', problem));
});

describe('an allow-list', () => {
  const allowed = ['https://app.example.com/callback', 'http://127.0.0.1/callback', 'cursor://anysphere.cursor-mcp/cb'];

  test('is exact, but for the port of a loopback', () => {
    assert.equal(findRedirectUriProblem('https://app.example.com/callback', allowed), undefined);
    assert.equal(findRedirectUriProblem('http://127.0.0.1:8123/callback', allowed), undefined);
    assert.equal(findRedirectUriProblem('cursor://anysphere.cursor-mcp/cb', allowed), undefined);
    for (const uri of [
      'https://app.example.com/callback/',
      'https://app.example.com/callback?x=1',
      'https://app.example.com:444/callback',
      'https://APP.example.com/callback',
      'https://appXexample.com/callback',
      'http://localhost:8123/callback',
      'http://127.0.0.1:8123/other',
      'cursor://anysphere.cursor-mcp/cb2',
    ])
      assert.match(findRedirectUriProblem(uri, allowed) ?? '', /not among those/, uri);
  });

  test('never allows schemes that run code, nor http on a public host', () => {
    assert.match(findRedirectUriProblem('javascript:alert(1)', ['javascript:alert(1)']) ?? '', /never allowed/);
    assert.match(
      findRedirectUriProblem('http://app.example.com/', ['http://app.example.com/']) ?? '',
      /must use https/,
    );
  });
});

describe('a redirect URI that is asked for', () => {
  test('is one that was registered', () => {
    assert.ok(matchesRedirectUri(['https://a.example/cb', 'https://b.example/cb'], 'https://b.example/cb'));
    assert.ok(!matchesRedirectUri(['https://a.example/cb'], 'https://a.example/cb2'));
    assert.ok(!matchesRedirectUri([], 'https://a.example/cb'));
  });

  test('may differ in the port of a loopback, and in nothing else', () => {
    const registered = 'http://127.0.0.1:1234/cb?x=1';
    for (const same of ['http://127.0.0.1:1/cb?x=1', 'http://127.0.0.1/cb?x=1', 'http://127.0.0.1:65535/cb?x=1'])
      assert.ok(isSameRedirectUri(registered, same), same);
    for (const other of [
      'https://127.0.0.1:1234/cb?x=1',
      'http://localhost:1234/cb?x=1',
      'http://[::1]:1234/cb?x=1',
      'http://127.0.0.1:1234/cb',
      'http://127.0.0.1:1234/cb?x=2',
      'http://127.0.0.1:1234/cb/../cb?x=1',
      'http://127.0.0.1:65536/cb?x=1',
      'http://127.0.0.1:1@evil.example/cb?x=1',
      'http://127.0.0.1:1234:80/cb?x=1',
      'http://127.0.0.1:1234/cb?x=1\n',
      'http://127.0.0.1.evil.example:1234/cb?x=1',
    ])
      assert.ok(!isSameRedirectUri(registered, other), other);
  });

  test('never leaves the host that was registered, whatever it looks like', () => {
    fc.assert(
      fc.property(
        fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true }),
        fc.string(),
        (uri, tail) => {
          const asked = `${uri}${tail}`;
          if (isSameRedirectUri('http://127.0.0.1/cb', asked)) assert.equal(new URL(asked).hostname, '127.0.0.1');
          assert.equal(isSameRedirectUri('https://a.example/cb', asked), asked === 'https://a.example/cb');
        },
      ),
    );
  });
});

test('parameters are added without touching the URI', () => {
  assert.equal(
    appendToRedirectUri('https://a.example/cb', { code: 'a b', state: undefined }),
    'https://a.example/cb?code=a+b',
  );
  assert.equal(appendToRedirectUri('https://a.example/cb?x=%7E', { code: '1' }), 'https://a.example/cb?x=%7E&code=1');
  assert.equal(appendToRedirectUri('https://a.example/cb?', { code: '1' }), 'https://a.example/cb?code=1');
  assert.equal(
    appendToRedirectUri('cursor://x/cb', { code: '1', iss: 'https://g' }),
    'cursor://x/cb?code=1&iss=https%3A%2F%2Fg',
  );
  assert.equal(appendToRedirectUri('https://a.example/cb', {}), 'https://a.example/cb');
});

test('where a redirect goes is told apart', () => {
  assert.ok(isLoopbackRedirect('http://localhost:1/') && !isLoopbackRedirect('https://localhost:1/'));
  assert.ok(
    isOwnedRedirect('https://a.example/') && !isOwnedRedirect('http://127.0.0.1/') && !isOwnedRedirect('x://y/'),
  );
  assert.equal(describeRedirectTarget('https://a.example:8443/cb'), 'a.example:8443');
  assert.equal(describeRedirectTarget('http://127.0.0.1:5/cb'), '127.0.0.1:5');
  assert.equal(describeRedirectTarget('cursor://anysphere.cursor-mcp/cb'), 'cursor://anysphere.cursor-mcp');
});
