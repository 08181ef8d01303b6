import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../../test/kit/effort.ts';
import { findAmbiguity } from './ambiguous-uri.ts';

describe('URIs that can be read in one way only', () => {
  for (const uri of [
    'file:///public/a.txt',
    'file:///C:/Users/x',
    'file:///data/public/',
    'file:///a/..b/...',
    'file:///100%25',
    'file:///a%20b/%C3%A9',
    'ticket:42',
    'urn:isbn:0451450523',
    'memo://insights',
    'note://internal/Note',
    'note://internal/my note',
    'ui://widget/a.html?x=1#y',
    'https://example.com',
    'https://example.com:8443/a%20b/?q=%2F',
    'https://[::1]:8080/a',
    'search://items?q=a;b&page=2',
    'file:///{+path}',
    'repo://{owner}/{repo}/contents{/path*}',
    'search://items{?q,page}',
    'matrix://{;a,b}',
    'postgres://db/table/schema',
    'a',
    '',
  ])
    test(JSON.stringify(uri), () => assert.equal(findAmbiguity(uri), undefined));
});

const outside = 'file:///data/public/';

describe('URIs that two readers resolve differently', () => {
  for (const [problem, ...uris] of [
    [
      'has dot segments',
      `${outside}../secret`,
      `${outside}./a`,
      `${outside}..`,
      `${outside}x/%2e%2E/secret`,
      `${outside}x/.%2e/secret`,
      `${outside}%252e%252e/secret`,
      `${outside}%25252e%25252e/secret`,
      'docs://x/public/../secret',
      'docs:../secret',
      '../secret',
      `${outside}\uFF0E\uFF0E/secret`,
    ],
    [
      'has an empty segment',
      `${outside}x//../../secret`,
      'file:////secret',
      'file:////host/share',
      'docs://x//secret',
      'https://example.com//a',
      'https://example.com/a//b',
      `${outside}x/%252f/secret`,
    ],
    [
      'has an encoded separator',
      `${outside}x%2f%2f..%2f..%2fsecret`,
      `${outside}..%2fsecret`,
      `${outside}a%2Fb`,
      `${outside}..%5Csecret`,
      'repo://owner/a%2Fb',
    ],
    [
      'has a backslash',
      `${outside}..\\secret`,
      'file:\\\\\\secret',
      `${outside}a\\b`,
      `${outside}%255c..`,
      'https:\\\\a',
    ],
    ['has path parameters (;)', `${outside}..;/secret`, `${outside};x/secret`, `${outside}a%3bx`, 'ticket:42;a=b'],
    [
      'is a file with a query or a fragment',
      `${outside}?/../../secret`,
      `${outside}#/../../secret`,
      'file:///secret?',
      'file:///secret%3F',
      'file:///secret%23x',
    ],
    [
      'has dot segments after ? or #',
      'docs://x/public?/../../secret',
      'docs://x/public#/../secret',
      'docs://x/public?a=../secret',
      'docs://x/public?%2e%2e/secret',
      'docs://x/public#a?../b',
    ],
    [
      'is a file without file:///',
      'file:/secret',
      'file:secret',
      'file://localhost/secret',
      'file://127.0.0.1/secret',
      'FILE:/secret',
      'file://',
      'file:',
    ],
    ['has a | in the path of a file', 'file:///C|/secret', 'file:///C%7C/secret'],
    ['has no host after its scheme', 'https:/example.com/a', 'https:example.com', 'https:///example.com/a', 'http://'],
    [
      'has a user in front of its host',
      'https://a@example.com/',
      'https://example.com:80@evil.example/',
      'docs://a:b@x/y',
    ],
    ['has a port that is not a number', 'https://example.com:/a', 'docs://x:80a/y'],
    ['has an encoded host', 'https://ex%61mple.com/a', 'docs://%2e%2e/secret'],
    ['has a host that is not ASCII', 'https://ex\u00e4mple.com/a', 'https://example\u3002com/a'],
    ['begins or ends with a space', ' file:///secret', 'file:///secret ', 'file:///secret%20', '\u00A0file:///a'],
    [
      'has control characters',
      'file:///secret\0',
      'file:///se\tcret',
      'file:///secret%00',
      'file:///a%250ab',
      'a\u0085',
    ],
    [
      'has an invalid percent-encoding',
      'file:///a%',
      'file:///a%zz',
      'file:///%c0%ae%c0%ae/secret',
      'file:///a%ff',
      'file:///%25c0%25ae',
    ],
    ['is percent-encoded several times', `file:///${'%25'.repeat(1)}${'25'.repeat(5)}61`],
  ] as const)
    describe(problem, () => {
      for (const uri of uris) test(JSON.stringify(uri), () => assert.equal(findAmbiguity(uri), problem));
    });
});

/** What common servers do with a URI before they open a file. */
const readers: Readonly<Record<string, (uri: string) => string>> = {
  'as it is': (uri) => uri.replace(/^file:\/\//, ''),
  decoded: (uri) => decodeURIComponent(uri.replace(/^file:\/\//, '')),
  parsed: (uri) => new URL(uri).pathname,
  'parsed, decoded': (uri) => decodeURIComponent(new URL(uri).pathname),
  'decoded, parsed': (uri) => new URL(decodeURIComponent(uri)).pathname,
  'decoded, parsed, decoded': (uri) => decodeURIComponent(new URL(decodeURIComponent(uri)).pathname),
  'without parameters': (uri) => decodeURIComponent(new URL(uri).pathname).replaceAll(/;[^/]*/g, ''),
  'with slashes for backslashes': (uri) => decodeURIComponent(new URL(uri).pathname).replaceAll('\\', '/'),
};

test('what passes a prefix is read below that prefix, whoever reads it', () => {
  const pieces = [
    'a',
    '.',
    '..',
    '/',
    '//',
    '\\',
    '%2f',
    '%2e',
    '%252e',
    '%5c',
    '%25',
    ';',
    '?',
    '#',
    '%3f',
    '%23',
    ' ',
    '%00',
    '\uFF0E',
    '@',
    ':',
    '|',
  ];
  let judged = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 10 }), (parts) => {
      const uri = `${outside}${parts.join('')}`;
      if (findAmbiguity(uri) !== undefined) return;
      judged += 1;
      for (const [name, read] of Object.entries(readers)) {
        let path: string;
        try {
          path = read(uri);
        } catch {
          continue;
        }
        // As the operating system walks.
        const walked: string[] = [];
        for (const segment of path.split('/')) {
          if (segment === '..') walked.pop();
          else if (segment !== '.' && segment !== '') walked.push(segment);
        }
        assert.equal(`/${walked.join('/')}/`.startsWith('/data/public/'), true, `${name}: ${uri} -> ${path}`);
      }
    }),
    { numRuns: effort(100_000, 2_000) },
  );
  assert.ok(judged > 20, `${judged} were left to be read`);
});
