// Rules whose expressions have given values, for tests of the decision logic.
import type { Expression } from '../../../cel/expression.ts';
import type { Rule, RuleAction, RuleSet } from '../../config/rule-set.ts';
import type { WrittenRule, WrittenValue } from './judge-by-the-words.ts';

/** An expression with this value; records each evaluation in `asked`. */
export function expressionOf(value: WrittenValue, asked: string[] = []): Expression {
  return {
    source: value,
    scope: 'request',
    reads: [],
    evaluate() {
      asked.push(value);
      return value === 'error' ? { ok: false, problem: 'no such key: team' } : { ok: true, value: value === 'true' };
    },
  };
}

/** A rule of the policy default/NAME at an HTTPRoute. */
export function ruleOf(name: string, action: RuleAction, expressions: readonly Expression[]): Rule {
  return { policy: `default/${name}`, level: 'HTTPRoute', target: 'HTTPRoute default/r', action, expressions };
}

/** The set of written rules; policies are called p0, p1... in their order. */
export function rulesOf(written: readonly WrittenRule[], asked: string[] = []): RuleSet {
  const rules = written.map(({ action, values, isOverride }, at): Rule => {
    const expressions = values.map((value) => expressionOf(value, asked));
    const rule = ruleOf(`p${at}`, action, expressions);
    return isOverride === true ? { ...rule, isOverride } : rule;
  });
  return {
    deny: rules.filter(({ action }) => action === 'Deny'),
    require: rules.filter(({ action }) => action === 'Require'),
    allow: rules.filter(({ action, isOverride }) => action === 'Allow' && isOverride !== true),
    allowOverrides: rules.filter(({ action, isOverride }) => action === 'Allow' && isOverride === true),
  };
}
