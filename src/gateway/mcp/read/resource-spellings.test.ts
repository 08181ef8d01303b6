import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listSpellings } from './resource-spellings.ts';

describe('a URI that has one spelling only', () => {
  for (const uri of [
    'file:///public/a.txt',
    'file:///C:/Users/x',
    'ticket:42',
    'memo://insights',
    'note://internal/Note',
    'repo://owner%2Fname/contents',
    'ui://widget/a.html?x=1#y',
    'https://example.com/a%20b/?q=%2F',
    'file:///a/..b/...',
    'file:///{+path}',
    'repo://{owner}/{repo}/contents{/path*}',
    'search://items{?q,page}',
    'no uri at all',
    'a',
    '',
  ])
    test(uri, () => assert.deepEqual(listSpellings(uri), [uri]));
});

describe('what a server may look for instead', () => {
  for (const [uri, ...others] of [
    ['file:///public/../secret', 'file:///secret'],
    ['file:///public/%2e%2E/secret', 'file:///secret'],
    ['file:///public/./a', 'file:///public/a'],
    ['file:///public/..\\secret', 'file:///secret'],
    ['file:///public/..%2fsecret', 'file:///secret'],
    ['file:///public/%2e%2e%5Csecret', 'file:///public/..%5Csecret', 'file:///secret'],
    ['docs://public/../secret', 'docs://public/secret'],
    ['docs://x/public/..\\secret', 'docs://x/secret'],
    ['docs://x/public/..%2Fsecret', 'docs://x/secret'],
    ['FILE:///secret', 'file:///secret'],
    [' file:///secret ', 'file:///secret'],
    ['file:/secret', 'file:///secret'],
    ['file://localhost/secret', 'file:///secret'],
    ['file:///%73ecret', 'file:///secret'],
    ['https://EXAMPLE.com:443/A', 'https://example.com/A'],
    ['https://example.com', 'https://example.com/'],
    ['note://internal/my note', 'note://internal/my%20note'],
  ] as const)
    test(uri, () => assert.deepEqual(listSpellings(uri), [uri, ...others]));
});
