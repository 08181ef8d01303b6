import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { compareHostnamePatterns, HostTable, readHostname, readHostnamePattern } from './hostname.ts';
import { effort } from '../../../../test/kit/effort.ts';

describe('readHostname', () => {
  const valid: readonly (readonly [string, string])[] = [
    ['example.com', 'example.com'],
    ['EXAMPLE.com:8080', 'example.com'],
    ['example.com.', 'example.com'],
    ['example.com.:80', 'example.com'],
    ['example.com:', 'example.com'],
    ['localhost', 'localhost'],
    ['my_host', 'my_host'],
    ['127.0.0.1:3000', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[::FFFF:127.0.0.1]:443', '[::ffff:127.0.0.1]'],
  ];
  for (const [authority, expected] of valid) {
    test(`reads ${authority}`, () => assert.equal(readHostname(authority), expected));
  }

  const invalid = [
    '',
    '.',
    '..',
    'a..b',
    '.a',
    'a b',
    'user@host',
    'host/path',
    'host:80:90',
    'host:x',
    'host:65536',
    '[::1',
    '[::1]x',
    '[zz]',
    '[fe80::1%25eth0]',
    '::1',
    'é.com',
    'a,b',
    '*.example.com',
    `${'a.'.repeat(127)}aa`,
  ];
  for (const authority of invalid) {
    test(`refuses ${JSON.stringify(authority)}`, () => assert.equal(readHostname(authority), undefined));
  }
});

describe('readHostnamePattern', () => {
  test('spells any host as the empty pattern', () => {
    assert.equal(readHostnamePattern(''), '');
    assert.equal(readHostnamePattern('*'), '');
  });

  test('keeps wildcards and lowers case', () => {
    assert.equal(readHostnamePattern('*.Example.COM'), '*.example.com');
    assert.equal(readHostnamePattern('A.example.com.'), 'a.example.com');
  });

  for (const pattern of ['*.', '*.*.com', 'a.*.com', 'a:80', '*a.com', 'a b']) {
    test(`refuses ${pattern}`, () => assert.equal(readHostnamePattern(pattern), undefined));
  }
});

describe('HostTable', () => {
  const patterns = ['', '*.com', '*.example.com', '*.b.example.com', 'a.example.com', 'b.example.com'];
  const table = new HostTable(patterns.map((pattern) => [pattern, pattern] as const));

  test('finds the most specific pattern', () => {
    assert.equal(table.find('a.example.com'), 'a.example.com');
    assert.equal(table.find('x.example.com'), '*.example.com');
    assert.equal(table.find('x.y.example.com'), '*.example.com');
    assert.equal(table.find('x.b.example.com'), '*.b.example.com');
    assert.equal(table.find('b.example.com'), 'b.example.com');
    assert.equal(table.find('example.com'), '*.com');
    assert.equal(table.find('com'), '');
    assert.equal(table.find('other.test'), '');
    assert.equal(table.find(''), '');
    assert.equal(table.find('[::1]'), '');
  });

  test('finds nothing without a pattern for it', () => {
    assert.equal(new HostTable([['*.example.com', 1]]).find('example.com'), undefined);
    assert.equal(new HostTable([['a.test', 1]]).find('b.test'), undefined);
    assert.equal(new HostTable([]).find('b.test'), undefined);
  });

  test('asks from the most specific to the least', () => {
    const asked: string[] = [];
    table.findFirst('b.example.com', (pattern) => {
      asked.push(pattern);
      return undefined;
    });
    assert.deepEqual(asked, ['b.example.com', '*.example.com', '*.com', '']);
  });

  test('lists its entries in the order of precedence', () => {
    assert.deepEqual(
      table.entries().map(([pattern]) => pattern),
      ['a.example.com', 'b.example.com', '*.b.example.com', '*.example.com', '*.com', ''],
    );
    assert.equal(table.size, 6);
    assert.equal(table.any, '');
  });

  test('agrees with a walk through all patterns', () => {
    const label = fc.constantFrom('a', 'b', 'cc');
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    const pattern = fc.oneof(
      name,
      name.map((text) => `*.${text}`),
      fc.constant(''),
    );
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { maxLength: 12 }), name, (all, host) => {
        const [expected] = all
          .filter(
            (one) =>
              one === '' ||
              one === host ||
              (one.startsWith('*.') && host.length > one.length - 1 && host.endsWith(one.slice(1))),
          )
          .toSorted(compareHostnamePatterns);
        assert.equal(new HostTable(all.map((one) => [one, one] as const)).find(host), expected);
      }),
      { numRuns: effort(3_000) },
    );
  });
});
