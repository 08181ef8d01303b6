import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePolicy, findRuleVariant } from './demo-rules.ts';
import { createRuleSwitch } from './rule-switch.ts';

const closes = findRuleVariant('bob-closes')!;
const sales = findRuleVariant('sales-tickets')!;

test('changes are applied one after the other, and reading waits for them', async () => {
  const applied: object[] = [];
  let running = 0;
  const rules = createRuleSwitch('sample', async (policy) => {
    running += 1;
    assert.equal(running, 1);
    await new Promise((resolve) => void setImmediate(resolve));
    applied.push(policy);
    running -= 1;
  });
  assert.equal((await rules.read()).variant, 'leads-only');
  const changes = [rules.choose(closes), rules.choose(sales)];
  assert.equal((await rules.read()).variant, 'sales-tickets');
  await Promise.all(changes);
  assert.deepEqual(
    applied,
    [closes, sales].map((variant) => describePolicy(variant, 'sample').resource),
  );
});

test('a change that fails leaves the rule as it was, and the next one is tried', async () => {
  let fails = true;
  const rules = createRuleSwitch('sample', async () => {
    if (fails) throw new Error('no');
  });
  await assert.rejects(rules.choose(closes), /^Error: no$/);
  assert.equal((await rules.read()).variant, 'leads-only');
  fails = false;
  assert.equal((await rules.choose(closes)).variant, 'bob-closes');
});
