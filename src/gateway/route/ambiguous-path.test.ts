import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../test/kit/effort.ts';
import { listReadings } from './ambiguous-path.ts';
import { readTarget } from '../http/request-target.ts';

describe('listReadings', () => {
  test('plain paths have none', () => {
    for (const path of ['/', '/mcp', '/a/b/c.json', '/%C3%A4/x', '/a:b@c', '*', '/a%20b', '/x%2Ey'])
      assert.deepEqual(listReadings(path), [], path);
  });

  for (const path of [
    '//admin',
    '///admin',
    '/admin;x',
    '/admin;x=1;y',
    '/;x/admin',
    '/%2Fadmin',
    '/%2fadmin',
    '%2Fadmin',
    '/%5Cadmin',
    '/%5cadmin',
    '/x;/..%2Fadmin',
    '/%252Fadmin',
    '/%25255cadmin',
    '//;a//admin;b',
    '/.%2Fadmin',
    '/x%2F..%2Fadmin',
    '/x/%2F../../admin',
  ])
    // prettier-ignore
    test(`${path} may be /admin`, () => assert.ok(listReadings(path).includes('/admin'), listReadings(path).join(' ')));

  test('separators within a path', () => {
    assert.ok(listReadings('/a%2Fadmin').includes('/a/admin'));
    assert.ok(listReadings('/a;b%2Fadmin').includes('/a/admin'));
  });

  test('whatever the path is: few, none of them the path itself, and never an error', () => {
    const part = fc.constantFrom('/', '//', ';', ';a=b', '%2F', '%5c', '%252f', '.', '..', 'admin', 'a', '%41');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const target = readTarget(`/${parts.join('')}`);
        if (!target.ok) return;
        const readings = listReadings(target.path);
        assert.ok(readings.length <= 8 && !readings.includes(target.path));
        for (const reading of readings) assert.ok(reading.startsWith('/'));
      }),
      { numRuns: effort(20_000) },
    );
  });
});
