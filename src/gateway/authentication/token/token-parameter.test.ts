import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { listParameterValues, withoutParameter } from './token-parameter.ts';

describe('a query parameter with a token', () => {
  test('is found however its name is spelled', () => {
    for (const query of [
      '?token=a.b-c_d',
      '?x=1&token=a.b-c_d',
      '?%74oken=a.b-c_d',
      '?tok%65n=a%2Eb-c_d',
      '?&token=a.b-c_d&',
    ])
      assert.deepEqual(listParameterValues(query, 'token'), ['a.b-c_d'], query);
    assert.deepEqual(listParameterValues('?token', 'token'), ['']);
    assert.deepEqual(listParameterValues('?token=', 'token'), ['']);
    assert.deepEqual(listParameterValues('?token=a&%74oken=b', 'token'), ['a', 'b']);
  });

  test('is not what only looks like it', () => {
    for (const query of [
      '',
      '?',
      '?Token=a',
      '?tokens=a',
      '?x=token',
      '??token=a',
      '?%2574oken=a',
      '?token%20=a',
      '?+token=a',
      '?x=1;token=a',
    ])
      assert.deepEqual(listParameterValues(query, 'token'), [], query);
  });

  test('is taken out in every spelling, and the rest keeps its bytes', () => {
    for (const [query, expected] of [
      ['?token=a', ''],
      ['?token', ''],
      ['?token=a&x=%7E+%2f&&Y', '?x=%7E+%2f&&Y'],
      ['?x=1&%74oken=a&y=2', '?x=1&y=2'],
      ['?x=1&token=a', '?x=1'],
      ['?token=a&tok%65n=b&token=c', ''],
      ['?x=1', '?x=1'],
      ['?', '?'],
      ['', ''],
      ['??token=a', '??token=a'],
      ['?x=%zz&token=a', '?x=%zz'],
    ] as const)
      assert.equal(withoutParameter(query, 'token'), expected, query);
  });

  test('is gone when it was taken out, and every other reader agrees', () => {
    const piece = fc.oneof(
      fc.constantFrom('token=a', '%74oken=b', 'token', 'x=1', 'y=%20+', '', '?', 'token%3Dq=1', 't+oken=1'),
      fc.string({ unit: fc.constantFrom('t', 'o', 'k', 'e', 'n', '%', '7', '4', '=', '&', '?', '+', ';') }),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const query = `?${pieces.join('&')}`;
        assert.deepEqual(listParameterValues(query, 'token'), new URLSearchParams(query).getAll('token'));
        const left = withoutParameter(query, 'token');
        const others = [...new URLSearchParams(query)].filter(([name]) => name !== 'token');
        assert.deepEqual([...new URLSearchParams(left)], others);
      }),
    );
  });
});
