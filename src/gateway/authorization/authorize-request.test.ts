import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext, buildRoute } from '../../../test/integration/admin-fixture.ts';
import type { Expression } from '../../cel/expression.ts';
import { noPolicies } from '../config/compile/compile-policies.ts';
import type { RouteConfig } from '../config/runtime-config.ts';
import type { Decision } from '../request/decision.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { McpAdmission } from '../request/admission.ts';
import { continueUnchanged, type Denial, type Verdict } from '../request/verdict.ts';
import { authorizeRequest } from './authorize-request.ts';
import type { RuleAction, RuleSet } from '../config/rule-set.ts';
import type { WrittenRule, WrittenValue } from './testing/judge-by-the-words.ts';
import { expressionOf, ruleOf, rulesOf } from './testing/rules-of-values.ts';

const token = {
  issuer: 'https://idp.example.com',
  subject: 'alice',
  claims: { sub: 'alice', team: 'support' },
  scopes: undefined,
  expiresAtMs: 0,
};

interface Judged {
  readonly denial: Denial | undefined;
  readonly context: RequestContext;
  /** The only one. */
  readonly decision: Decision;
}

function routeOf(rules: RuleSet): RouteConfig {
  return buildRoute('default/tickets', { policies: { ...noPolicies, 'traffic.authorization': rules } });
}

function authorize(context: RequestContext, route: RouteConfig): Verdict | Promise<Verdict> {
  return authorizeRequest({ context, route, matched: { route, matchedPrefix: '' } });
}

function judge(rules: RuleSet, explained = false): Judged {
  const context = buildContext({ explained });
  context.mcp = { token, text: 'a.b.c' } as unknown as McpAdmission;
  const verdict = authorize(context, routeOf(rules));
  assert.ok(!(verdict instanceof Promise) && verdict.kind !== 'respond');
  const denial = verdict.kind === 'deny' ? verdict : undefined;
  assert.equal(context.decisions.length, 1);
  return { denial, context, decision: context.decisions[0]! };
}

function rule(action: RuleAction, ...values: WrittenValue[]): WrittenRule {
  return { action, values };
}

describe('a request that the rules allow', () => {
  test('goes on, and the rule that allowed it is noted without asking the others', () => {
    const asked: string[] = [];
    const { denial, decision } = judge(
      rulesOf([rule('Deny', 'false'), rule('Allow', 'false', 'true', 'error')], asked),
    );
    assert.equal(denial, undefined);
    assert.deepEqual(asked, ['false', 'false', 'true']);
    assert.deepEqual(decision, {
      step: 'traffic.authorization',
      policy: 'default/p1',
      mode: '',
      outcome: 'allow',
      reason: undefined,
      detail: undefined,
      decidedBy: {
        policy: 'default/p1',
        level: 'HTTPRoute',
        target: 'HTTPRoute default/r',
        action: 'Allow',
        index: 1,
        source: 'true',
      },
      rules: [],
    });
  });

  test('costs no new decision: it is the same one every time', () => {
    const allowing = rulesOf([rule('Allow', 'true')]);
    assert.equal(judge(allowing).decision, judge(allowing).decision);
    const unopposing = rulesOf([rule('Require', 'true')]);
    assert.equal(judge(unopposing).decision, judge(unopposing).decision);
    assert.notEqual(judge(unopposing).decision, judge(rulesOf([rule('Require', 'true')])).decision);
  });

  test('without an Allow rule is put down to the first policy that had nothing against it', () => {
    const { denial, decision } = judge(rulesOf([rule('Require', 'true'), rule('Deny', 'false')]));
    assert.equal(denial, undefined);
    assert.equal(decision.policy, 'default/p1', 'Deny is asked first');
    assert.equal(decision.decidedBy, undefined);
  });

  test('and is being explained: every expression is asked and noted', () => {
    const rules = rulesOf([rule('Deny', 'false'), rule('Allow', 'true', 'error'), rule('Require', 'true')]);
    const { denial, decision } = judge(rules, true);
    assert.equal(denial, undefined);
    assert.equal(decision.outcome, 'allow');
    assert.deepEqual(
      decision.rules.map(({ policy, action, index, value, problem }) => [policy, action, index, value, problem]),
      [
        ['default/p0', 'Deny', 0, false, undefined],
        ['default/p2', 'Require', 0, true, undefined],
        ['default/p1', 'Allow', 0, true, undefined],
        ['default/p1', 'Allow', 1, 'error', 'no such key: team'],
      ],
    );
    assert.deepEqual(judge(rules).decision.rules, [], 'the next request is not');
  });
});

describe('a request that the rules deny', () => {
  test('gets rbac_denied and nothing that tells the rule; the operator is told', () => {
    const { denial, decision } = judge(rulesOf([rule('Allow', 'true'), rule('Deny', 'false', 'true')]));
    const detail = 'policy default/p1, Deny, matchExpressions[1] matches: true';
    assert.deepEqual(denial, { kind: 'deny', reason: 'rbac_denied', detail, responseHeaders: [] });
    const { rules, ...others } = decision;
    assert.deepEqual(others, {
      step: 'traffic.authorization',
      policy: 'default/p1',
      mode: '',
      outcome: 'deny',
      reason: 'rbac_denied',
      detail,
      decidedBy: {
        policy: 'default/p1',
        level: 'HTTPRoute',
        target: 'HTTPRoute default/r',
        action: 'Deny',
        index: 1,
        source: 'true',
      },
    });
    assert.deepEqual(
      rules.map(({ action, value }) => [action, value]),
      [
        ['Deny', false],
        ['Deny', true],
        ['Allow', true],
      ],
    );
  });

  test('by a broken expression: the detail has the problem', () => {
    for (const action of ['Deny', 'Require'] as const) {
      const { denial } = judge(rulesOf([rule(action, 'error')]));
      assert.equal(
        denial?.detail,
        `policy default/p0, ${action}, matchExpressions[0] cannot be evaluated (no such key: team): error`,
      );
    }
  });

  test('by a Require that does not hold', () => {
    assert.equal(
      judge(rulesOf([rule('Require', 'true', 'false')])).denial?.detail,
      'policy default/p0, Require, matchExpressions[1] does not hold: false',
    );
  });

  test('because no Allow matches: all policies are named, and the first expression that failed', () => {
    const { denial, decision } = judge(rulesOf([rule('Allow', 'false'), rule('Allow', 'false')]));
    assert.equal(denial?.detail, 'no Allow rule matches: policies default/p0, default/p1');
    assert.equal(decision.policy, 'default/p0');
    assert.equal(decision.decidedBy, undefined);
    assert.equal(
      judge(rulesOf([rule('Allow', 'false', 'error')])).denial?.detail,
      'no Allow rule matches: policy default/p0; policy default/p0, Allow, matchExpressions[1] cannot be evaluated (no such key: team): error',
    );
    const many = judge(rulesOf(Array.from({ length: 10 }, () => rule('Allow', 'false'))));
    assert.match(many.denial!.detail, /: policies default\/p0, .*, default\/p7 and 2 more$/);
  });

  test('by a long expression: the detail stays a line', () => {
    const long: Expression = { ...expressionOf('true'), source: `jwt.sub ==\n\n  "${'x'.repeat(4_000)}"` };
    const { denial } = judge({ deny: [ruleOf('long', 'Deny', [long])], require: [], allow: [], allowOverrides: [] });
    assert.match(denial!.detail, /: jwt\.sub == "x+\.\.\.$/);
    assert.ok(denial!.detail.length < 300);
  });
});

test('a denial can be read by scripts, like every other one', () => {
  const context = buildContext();
  const exchange = { ...context.exchange, headers: ['origin', 'https://app.example'] };
  const route = routeOf({
    deny: [ruleOf('no', 'Deny', [expressionOf('true')])],
    require: [],
    allow: [],
    allowOverrides: [],
  });
  const verdict = authorize({ ...context, exchange, route }, route);
  assert.ok(!(verdict instanceof Promise) && verdict.kind === 'deny');
  assert.deepEqual(verdict.responseHeaders, [
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    'WWW-Authenticate, Mcp-Session-Id',
  ]);
});

test("a route without rules is nobody's business", () => {
  const context = buildContext();
  assert.equal(authorize(context, buildRoute()), continueUnchanged);
  assert.deepEqual(context.decisions, []);
});
