import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { conditionReasons, type ConditionSubject } from '../../translate/conditions.ts';
import { combineStates, judgeConditions } from './judge-conditions.ts';

function makeCondition(type: string, status: string, more: object = {}): object {
  return { type, status, reason: type, message: 'm', observedGeneration: 3, ...more };
}

describe('conditions', () => {
  const accepted = makeCondition('Accepted', 'True');
  const cases: readonly (readonly [string, readonly object[], string])[] = [
    ['both are good', [accepted, makeCondition('Programmed', 'True')], 'well'],
    ['one is bad', [accepted, makeCondition('Programmed', 'False')], 'unwell'],
    ['one is not known', [accepted, makeCondition('Programmed', 'Unknown')], 'unwell'],
    ['one is missing', [accepted], 'unwell'],
    ['none is there', [], 'untouched'],
    ['only those of somebody else', [makeCondition('example.com/Checked', 'False')], 'untouched'],
    ['others beside ours', [accepted, makeCondition('Programmed', 'True'), makeCondition('Ready', 'False')], 'well'],
    [
      'one is old',
      [makeCondition('Accepted', 'True', { observedGeneration: 2 }), makeCondition('Programmed', 'True')],
      'stale',
    ],
    ['one is old and bad', [accepted, makeCondition('Programmed', 'False', { observedGeneration: 2 })], 'stale'],
    [
      'as the CRD has them before a controller comes',
      ['Accepted', 'Programmed'].map((type) =>
        makeCondition(type, 'Unknown', { lastTransitionTime: '1970-01-01T00:00:00Z', observedGeneration: undefined }),
      ),
      'untouched',
    ],
  ];
  for (const [name, conditions, expected] of cases)
    test(`${name}: ${expected}`, () => assert.equal(judgeConditions('gateway', { conditions }, 3).state, expected));

  test('Conflicted is good when False', () => {
    const base = [accepted, makeCondition('Programmed', 'True')];
    const judge = (status: string) =>
      judgeConditions('listener', { conditions: [...base, makeCondition('Conflicted', status)] }, 3).state;
    assert.deepEqual([judge('False'), judge('True')], ['well', 'unwell']);
  });

  test('whatever stands in a status is read without harm', () => {
    const subjects = Object.keys(conditionReasons) as ConditionSubject[];
    fc.assert(
      fc.property(fc.constantFrom(...subjects), fc.anything(), (subject, status) => {
        judgeConditions(subject, status, 1);
        judgeConditions(subject, { conditions: status }, 1);
        judgeConditions(subject, { conditions: [status] }, undefined);
      }),
    );
  });

  test('the worst state counts', () => {
    assert.equal(combineStates([]), 'well');
    assert.equal(combineStates(['well', 'untouched']), 'untouched');
    assert.equal(combineStates(['stale', 'well', 'untouched']), 'stale');
    assert.equal(combineStates(['stale', 'unwell']), 'unwell');
  });
});
