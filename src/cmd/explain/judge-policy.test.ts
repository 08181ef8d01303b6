import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgePolicy, type JointDecision, type SaidRule } from './judge-policy.ts';

const target = 'Gateway default/test';

/** "a Deny true, b Require error": policies, actions and values. */
function rulesOf(text: string): SaidRule[] {
  return text.split(', ').map((entry) => {
    const [policy = '', action, value = ''] = entry.split(' ');
    const values: Readonly<Record<string, SaidRule['value']>> = { true: true, false: false, error: 'error' };
    return { policy, target, action: action as SaidRule['action'], value: values[value] ?? 'skipped' };
  });
}

function judge(rules: string, decision: Partial<JointDecision> = {}, usesItem = false): string {
  const said = rulesOf(rules);
  const joint: JointDecision = {
    policy: said[0]!.policy,
    outcome: 'deny',
    reason: 'rbac_denied',
    decidedBy: undefined,
    rules: said,
    isCut: false,
    ...decision,
  };
  return [...new Set(said.map(({ policy }) => policy))]
    .map((policy) => `${policy} ${judgePolicy(joint, { policy, target }, usesItem)}`)
    .join(', ');
}

const by = (policy: string): Partial<JointDecision> => ({ decidedBy: { policy, target } });
const passed: Partial<JointDecision> = { outcome: 'allow', reason: undefined };

describe('what each policy says', () => {
  test('the one that decides denies, and the others that would have too are not said to allow', () => {
    assert.equal(judge('a Deny true, b Require error, b Require error', by('a')), 'a deny, b also_denies');
    assert.equal(judge('a Deny true, b Require true, c Deny false', by('a')), 'a deny, b allow, c allow');
    assert.equal(judge('a Deny error, b Deny error, c Require false', by('a')), 'a deny, b also_denies, c also_denies');
  });

  test('an Allow that does not match denies, unless another one matches', () => {
    assert.equal(judge('a Allow false, b Allow error'), 'a deny, b deny');
    assert.equal(judge('d Deny true, a Allow false', by('d')), 'd deny, a also_denies');
    assert.equal(judge('d Deny true, a Allow false, b Allow true', by('d')), 'd deny, a no_say, b allow');
    assert.equal(judge('a Allow false, b Allow true', { ...passed, ...by('b') }), 'a no_say, b allow');
  });

  test('what is skipped has no say; a skipped Allow is a match where nothing is used', () => {
    assert.equal(judge('a Deny skipped, b Require skipped', passed), 'a no_say, b no_say');
    assert.equal(judge('a Allow skipped', passed), 'a allow');
    assert.equal(judge('d Deny true, a Allow skipped', by('d')), 'd deny, a allow');
    assert.equal(judge('d Deny true, a Allow skipped', by('d'), true), 'd deny, a also_denies');
    assert.equal(judge('a Allow skipped', { reason: 'item_hidden', outcome: 'respond' }, true), 'a deny');
  });

  test('without an expression that decides it is the policy that is named', () => {
    assert.equal(judge('a Require true', { reason: 'insufficient_scope' }), 'a deny');
    assert.equal(judge('a Allow true', { reason: 'insufficient_scope' }), 'a deny');
    assert.equal(judge('a Allow true, b Allow true', { rules: [] }), 'a deny, b allow');
    assert.equal(judge('a Allow true', { ...passed, rules: [] }), 'a allow');
    assert.equal(judge('a Allow true', { outcome: 'respond', reason: undefined, rules: [] }), 'a respond');
  });

  test('where expressions were not kept nothing is made up', () => {
    assert.equal(judge('d Deny true, a Allow false', { ...by('d'), isCut: true }), 'd deny, a no_say');
  });
});
