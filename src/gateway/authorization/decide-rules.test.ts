import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import type { Expression } from '../../cel/expression.ts';
import { decideRules, type RuleApplication } from './decide-rules.ts';
import { readRequestVariables } from './request-variables.ts';
import { judgeByTheWords, type WrittenRule, type WrittenValue } from './testing/judge-by-the-words.ts';
import { expressionOf, ruleOf, rulesOf } from './testing/rules-of-values.ts';
import type { RuleAction, RuleSet } from '../config/rule-set.ts';
import { effort } from '../../../test/kit/effort.ts';

const variables = readRequestVariables(buildContext(), undefined);

/** Deny/0: who decided; empty: nobody. */
function decide(rules: RuleSet, application?: RuleApplication): string {
  const { allowed, decidedBy, problem } = decideRules(rules, variables, application);
  const who = decidedBy === undefined ? '' : ` by ${decidedBy.policy} ${decidedBy.action}[${decidedBy.index}]`;
  return `${allowed ? 'allowed' : 'denied'}${who}${problem === undefined ? '' : `: ${problem}`}`;
}

function rule(action: RuleAction, ...values: WrittenValue[]): WrittenRule {
  return { action, values };
}

function override(...values: WrittenValue[]): WrittenRule {
  return { action: 'Allow', values, isOverride: true };
}

const failed = 'no such key: team';

// Every line: rules in the order of their policies (p0, p1...), and the verdict.
const table: readonly (readonly [rules: WrittenRule[], verdict: string])[] = [
  [[], 'allowed'],
  // One expression.
  [[rule('Allow', 'true')], 'allowed by default/p0 Allow[0]'],
  [[rule('Allow', 'false')], 'denied'],
  [[rule('Allow', 'error')], 'denied'],
  [[rule('Deny', 'true')], 'denied by default/p0 Deny[0]'],
  [[rule('Deny', 'false')], 'allowed'],
  [[rule('Deny', 'error')], `denied by default/p0 Deny[0]: ${failed}`],
  [[rule('Require', 'true')], 'allowed'],
  [[rule('Require', 'false')], 'denied by default/p0 Require[0]'],
  [[rule('Require', 'error')], `denied by default/p0 Require[0]: ${failed}`],
  // Several expressions: any of them for Allow and Deny, all of them for Require.
  [[rule('Allow', 'false', 'true')], 'allowed by default/p0 Allow[1]'],
  [[rule('Allow', 'error', 'true')], 'allowed by default/p0 Allow[1]'],
  [[rule('Allow', 'false', 'error')], 'denied'],
  [[rule('Deny', 'false', 'true')], 'denied by default/p0 Deny[1]'],
  [[rule('Deny', 'false', 'error')], `denied by default/p0 Deny[1]: ${failed}`],
  [[rule('Deny', 'false', 'false')], 'allowed'],
  [[rule('Require', 'true', 'false')], 'denied by default/p0 Require[1]'],
  [[rule('Require', 'true', 'error')], `denied by default/p0 Require[1]: ${failed}`],
  [[rule('Require', 'true', 'true')], 'allowed'],
  // Several rules of one kind.
  [[rule('Allow', 'false'), rule('Allow', 'true')], 'allowed by default/p1 Allow[0]'],
  [[rule('Allow', 'error'), rule('Allow', 'true')], 'allowed by default/p1 Allow[0]'],
  [[rule('Allow', 'false'), rule('Allow', 'error')], 'denied'],
  [[rule('Deny', 'false'), rule('Deny', 'true')], 'denied by default/p1 Deny[0]'],
  [[rule('Require', 'true'), rule('Require', 'false')], 'denied by default/p1 Require[0]'],
  [[rule('Require', 'true'), rule('Require', 'true')], 'allowed'],
  // Deny before Require before Allow, wherever they stand.
  [[rule('Allow', 'true'), rule('Deny', 'true')], 'denied by default/p1 Deny[0]'],
  [[rule('Allow', 'true'), rule('Deny', 'error')], `denied by default/p1 Deny[0]: ${failed}`],
  [[rule('Allow', 'true'), rule('Deny', 'false')], 'allowed by default/p0 Allow[0]'],
  [[rule('Allow', 'false'), rule('Deny', 'false')], 'denied'],
  [[rule('Allow', 'true'), rule('Require', 'false')], 'denied by default/p1 Require[0]'],
  [[rule('Allow', 'true'), rule('Require', 'true')], 'allowed by default/p0 Allow[0]'],
  [[rule('Allow', 'false'), rule('Require', 'true')], 'denied'],
  [[rule('Require', 'false'), rule('Deny', 'true')], 'denied by default/p1 Deny[0]'],
  [[rule('Require', 'true'), rule('Deny', 'false')], 'allowed'],
  [[rule('Allow', 'true'), rule('Require', 'true'), rule('Deny', 'false')], 'allowed by default/p0 Allow[0]'],
  [[rule('Allow', 'true'), rule('Require', 'true'), rule('Deny', 'true')], 'denied by default/p2 Deny[0]'],
  // Overrides: each must allow by itself.
  [[override('true')], 'allowed by default/p0 Allow[0]'],
  [[override('false')], 'denied'],
  [[override('error')], 'denied'],
  [[override('false'), rule('Allow', 'true')], 'denied'],
  [[override('true'), rule('Allow', 'false')], 'denied'],
  [[override('true'), rule('Allow', 'true')], 'allowed by default/p1 Allow[0]'],
  [[override('true'), override('false', 'error'), rule('Allow', 'true')], 'denied'],
  [[override('true'), override('false', 'true')], 'allowed by default/p1 Allow[1]'],
  [[override('true'), rule('Deny', 'true')], 'denied by default/p1 Deny[0]'],
];

describe('rules decide', () => {
  for (const [written, verdict] of table) {
    const name =
      written
        .map(({ action, values, isOverride }) => `${isOverride ? 'Override ' : ''}${action}(${values.join(', ')})`)
        .join(' + ') || 'no rules';
    test(`${name}: ${verdict}`, () => {
      assert.equal(decide(rulesOf(written)), verdict);
      assert.equal(judgeByTheWords(written), verdict.startsWith('allowed'), 'the documented words say the same');
    });
  }

  test('and ask no more expressions than it takes', () => {
    const count = (...written: WrittenRule[]): number => {
      const asked: string[] = [];
      decideRules(rulesOf(written, asked), variables);
      return asked.length;
    };
    assert.equal(count(rule('Deny', 'true', 'true'), rule('Require', 'true'), rule('Allow', 'true')), 1);
    assert.equal(count(rule('Deny', 'false'), rule('Require', 'false', 'true'), rule('Allow', 'true')), 2);
    assert.equal(count(rule('Allow', 'true', 'true'), rule('Allow', 'true')), 1);
    assert.equal(count(rule('Allow', 'false', 'error'), rule('Allow', 'false')), 3);
  });

  test('with the same object every time, and another one only when an expression failed', () => {
    const rules = rulesOf([rule('Allow', 'false', 'true')]);
    assert.equal(decideRules(rules, variables), decideRules(rules, variables));
    assert.equal(decideRules(rulesOf([]), variables), decideRules(rulesOf([rule('Deny', 'false')]), variables));
    const broken = rulesOf([rule('Deny', 'error')]);
    assert.equal(decideRules(broken, variables).problem, failed);
  });

  test('and name the whole of the expression that decided', () => {
    const rules: RuleSet = {
      deny: [
        { ...ruleOf('x', 'Deny', [expressionOf('true')]), level: 'listener', target: 'Gateway default/g, listener l' },
      ],
      require: [],
      allow: [],
      allowOverrides: [],
    };
    assert.deepEqual(decideRules(rules, variables).decidedBy, {
      policy: 'default/x',
      level: 'listener',
      target: 'Gateway default/g, listener l',
      action: 'Deny',
      index: 0,
      source: 'true',
    });
  });
});

function applying(skippedAllows: boolean): RuleApplication {
  return { applies: ({ source }: Expression) => source !== 'skipped', skippedAllows };
}

describe('an expression that does not concern the message', () => {
  test('has no say for Deny and Require', () => {
    for (const skippedAllows of [true, false]) {
      const application = applying(skippedAllows);
      assert.equal(decide(rulesOf([rule('Deny', 'skipped')]), application), 'allowed');
      assert.equal(decide(rulesOf([rule('Require', 'skipped')]), application), 'allowed');
      assert.equal(
        decide(rulesOf([rule('Deny', 'skipped', 'true')]), application),
        'denied by default/p0 Deny[1]',
        'the others do',
      );
      assert.equal(
        decide(rulesOf([rule('Require', 'skipped', 'false')]), application),
        'denied by default/p0 Require[1]',
      );
    }
  });

  test('is a match for Allow where that is said, and none where it is not', () => {
    assert.equal(decide(rulesOf([rule('Allow', 'skipped')]), applying(true)), 'allowed');
    assert.equal(decide(rulesOf([rule('Allow', 'skipped')]), applying(false)), 'denied');
    assert.equal(
      decide(rulesOf([rule('Allow', 'skipped', 'true')]), applying(false)),
      'allowed by default/p0 Allow[1]',
    );
    assert.equal(
      decide(rulesOf([rule('Allow', 'skipped'), rule('Deny', 'true')]), applying(true)).split(' ')[0],
      'denied',
    );
  });

  test('can get its value from elsewhere', () => {
    const application: RuleApplication = {
      ...applying(false),
      evaluate: ({ source }) => ({ ok: true, value: source === 'false' }),
    };
    assert.equal(decide(rulesOf([rule('Allow', 'false')]), application), 'allowed by default/p0 Allow[0]');
    assert.equal(decide(rulesOf([rule('Deny', 'true')]), application), 'allowed');
  });
});

test('any rules decide as the documented words say', () => {
  const value = fc.constantFrom<WrittenValue>('true', 'false', 'error', 'skipped');
  const written = fc.record({
    action: fc.constantFrom<RuleAction>('Allow', 'Deny', 'Require'),
    values: fc.array(value, { minLength: 1, maxLength: 4 }),
    isOverride: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(written, { maxLength: 6 }), fc.boolean(), (rules, skippedAllows) => {
      const { allowed, decidedBy } = decideRules(rulesOf(rules), variables, applying(skippedAllows));
      assert.equal(allowed, judgeByTheWords(rules, skippedAllows));
      // Whoever decided is there, and its action fits the verdict.
      if (decidedBy !== undefined) {
        const named = rules[Number(decidedBy.policy.slice('default/p'.length))]!;
        assert.equal(named.action, decidedBy.action);
        assert.equal(named.values[decidedBy.index], decidedBy.source);
        assert.equal(allowed, decidedBy.action === 'Allow');
      }
    }),
    { numRuns: effort(20_000) },
  );
});
