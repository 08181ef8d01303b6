import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createNameFilter } from './name-filter.ts';

describe('filters by name', () => {
  const cases: readonly (readonly [readonly string[], string, string, boolean])[] = [
    [[], 'default', 'tickets', true],
    [['tickets'], 'default', 'tickets', true],
    [['ticket'], 'default', 'tickets', false],
    [['ticket*'], 'default', 'tickets', true],
    [['*cket*'], 'default', 'tickets', true],
    [['team/*'], 'default', 'tickets', false],
    [['team/*', 'tickets'], 'default', 'tickets', true],
    [['*/tickets'], 'default', 'tickets', true],
    [['default/tickets'], 'default', 'tickets', true],
    [['t.ckets'], 'default', 'tickets', false],
    [['proxy'], '', 'proxy', true],
  ];
  for (const [patterns, namespace, name, expected] of cases)
    test(`${patterns.join(' ')} ${expected ? 'shows' : 'hides'} ${namespace}/${name}`, () =>
      assert.equal(createNameFilter(patterns).matches(namespace, name), expected));

  test('a pattern that fits nothing is told of, with the name that was probably meant', () => {
    const names = [
      { namespace: 'default', name: 'tickets' },
      { namespace: 'team', name: 'wiki' },
    ];
    assert.deepEqual(createNameFilter(['tickts', 'wiki', 'team/wikki', 'zzz']).listUnmatched(names), [
      { pattern: 'tickts', nearest: 'tickets' },
      { pattern: 'team/wikki', nearest: 'team/wiki' },
      { pattern: 'zzz', nearest: undefined },
    ]);
  });

  test('stars do not make it slow', () => {
    const filter = createNameFilter([`${'*'.repeat(50)}a${'*'.repeat(50)}b`]);
    assert.equal(filter.matches('', 'a'.repeat(253)), false);
  });
});
