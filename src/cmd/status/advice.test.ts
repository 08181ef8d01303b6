// Every reason that translation can give has an advice, and no advice is for a reason that nobody gives.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConditionSubject, conditionReasons } from '../../translate/conditions.ts';
import { leaseName as actualLeaseName } from '../../controller/start-controller.ts';
import { adviceByReason, findAdvice } from './advice.ts';
import { goodReasons } from './testing/good-reasons.ts';
import { leaseName } from './describe-controller.ts';

/** What the controller, or the Gateway API, gives beyond translation. */
const reasonsOfOthers: Partial<Record<ConditionSubject, readonly string[]>> = {
  gatewayClass: ['Pending'],
  gateway: ['NoResources'],
};

function listReasons(subject: ConditionSubject): (readonly [type: string, reason: string])[] {
  return Object.entries(conditionReasons[subject]).flatMap(([type, reasons]) =>
    (reasons as readonly string[]).map((reason) => [type, reason] as const),
  );
}

const subjects = Object.keys(conditionReasons) as ConditionSubject[];

describe('advice', () => {
  for (const subject of subjects) {
    for (const [type, reason] of listReasons(subject)) {
      if (goodReasons.has(reason)) continue;
      test(`${subject} ${type} ${reason}`, () => {
        const advice = findAdvice(subject, type, reason);
        assert.match(advice, /^[A-Z`'].{20,}$/, 'a sentence');
      });
    }
  }

  test('is for reasons that somebody gives', () => {
    for (const subject of subjects) {
      const given = new Set([
        ...listReasons(subject).flatMap(([type, reason]) => [reason, `${type}/${reason}`]),
        ...(reasonsOfOthers[subject] ?? []),
      ]);
      for (const reason of Object.keys(adviceByReason[subject]))
        assert.ok(given.has(reason), `nobody gives ${subject} the reason ${reason}`);
    }
  });

  test('of a reason that is not known is none', () => {
    assert.equal(findAdvice('gateway', 'Accepted', 'Something'), '');
    assert.equal(findAdvice('gateway', 'Accepted', 'toString'), '');
  });
});

test('the Lease that is looked at is the one of the controller', () => assert.equal(leaseName, actualLeaseName));
