import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExpressionVariables } from '../../../cel/expression.ts';
import { createItemJudge } from './message-step.ts';
import { isListed, judgeBareRequest, judgeItemMessage, judgePlainMessage } from './judge-message.ts';
import { chooseOwnItemFinder, createOwnItemFinder } from '../names/own-item.ts';
import type { Item } from '../read/read-item.ts';
import { createCaller, createFederation, createRules, type WrittenRules } from '../testing/message-fixture.ts';

const version = '2025-11-25';

/** "t" tool a, "p" prompt a, "r" resource a, "l" tools/list, "-" no message: the letters of what is allowed. */
function judgeAll(written: WrittenRules, claims: Readonly<Record<string, unknown>> = {}): string {
  const caller = createCaller(createRules(written), claims);
  const judgements = {
    t: judgeItemMessage(caller, 'tools/call', version, { kind: 'tool', name: 'a' }),
    p: judgeItemMessage(caller, 'prompts/get', version, { kind: 'prompt', name: 'a' }),
    r: judgeItemMessage(caller, 'resources/read', version, { kind: 'resource', name: 'a' }),
    l: judgePlainMessage(caller, 'tools/list', version),
    '-': judgeBareRequest(caller, version),
  };
  return Object.entries(judgements)
    .filter(([, { decision }]) => decision.allowed)
    .map(([letter]) => letter)
    .join('');
}

describe('which rules speak about which messages', () => {
  for (const [action, expressions, allowed] of [
    // Read nothing of the message: asked about everything.
    ['Allow', ['jwt.sub == "alice"'], 'tprl-'],
    ['Allow', ['jwt.sub == "bob"'], ''],
    ['Allow', ['jwt.missing == "x"'], ''],
    ['Deny', ['jwt.sub == "alice"'], ''],
    ['Deny', ['jwt.sub == "bob"'], 'tprl-'],
    ['Deny', ['jwt.missing == "x"'], ''],
    ['Require', ['jwt.sub == "alice"'], 'tprl-'],
    ['Require', ['jwt.sub == "bob"'], ''],
    // Read an item: asked about that kind; for what uses none, a skipped Allow is a match.
    ['Allow', ['mcp.tool.name == "a"'], 'tl-'],
    ['Allow', ['mcp.tool.name == "b"'], 'l-'],
    ['Allow', ['mcp.prompt.name == "a"'], 'pl-'],
    ['Allow', ['mcp.resource.uri == "a"'], 'rl-'],
    ['Allow', ['mcp.tool.name == "a"', 'mcp.prompt.name == "a"'], 'tpl-'],
    ['Allow', ['mcp.tool.name == "b"', 'jwt.sub == "alice"'], 'tprl-'],
    ['Deny', ['mcp.tool.name == "a"'], 'prl-'],
    ['Deny', ['mcp.tool.name == "b"'], 'tprl-'],
    ['Deny', ['mcp.resource.uri == "a"', 'mcp.prompt.name == "a"'], 'tl-'],
    ['Require', ['mcp.tool.name == "b"'], 'prl-'],
    ['Require', ['mcp.tool.name == "a"', 'jwt.sub == "bob"'], ''],
    // Read the method: asked about every message that has one.
    ['Allow', ['mcp.method == "tools/call"'], 't-'],
    ['Allow', ['mcp.method == "tools/list"'], 'l-'],
    ['Deny', ['mcp.method == "resources/read"'], 'tpl-'],
    ['Deny', ['mcp.method == ""'], 'tprl-'],
    ['Require', ['mcp.method != "prompts/get"'], 'trl-'],
    // What is said of a version or a session is asked about everything.
    ['Require', ['mcp.protocolVersion == "2025-11-25"'], 'tprl-'],
    ['Deny', ['mcp.sessionId == ""'], ''],
    // Several kinds in one expression: asked about each of them, and what is not there is an error.
    ['Allow', ['mcp.tool.name == "a" || mcp.prompt.name == "a"'], 'tpl-'],
    ['Deny', ['mcp.tool.name == "z" || mcp.prompt.name == "z"'], 'rl-'],
    // Broken expressions never open the door.
    ['Allow', ['mcp.tool.arguments.x == 1'], 'l-'],
    ['Deny', ['mcp.tool.arguments.x == 1'], 'prl-'],
    ['Deny', ['has(mcp.tool.arguments.x)'], 'tprl-'],
  ] as const)
    test(`${action} ${expressions.join(', ')}: ${allowed}`, () =>
      assert.equal(judgeAll({ action, expressions }, { sub: 'alice' }), allowed));

  test('scopes alone are no rules', () => assert.equal(judgeAll({ scopes: [{ scopes: ['x'] }] }), 'tprl-'));

  test('arguments are what was sent', () => {
    const caller = createCaller(
      createRules({ expressions: ['mcp.tool.arguments.n == 3 && mcp.tool.arguments.d == 0.5'] }),
    );
    const call = (given: Item['arguments']): boolean =>
      judgeItemMessage(caller, 'tools/call', version, { kind: 'tool', name: 'a', arguments: given }).decision.allowed;
    assert.equal(call({ n: 3, d: 0.5 }), true);
    assert.equal(call({ n: 3, d: 1.5 }), false);
    assert.equal(call({ n: '3', d: 0.5 }), false);
    assert.equal(call({}), false);
  });
});

describe('items in lists', () => {
  function list(written: WrittenRules, claims: Readonly<Record<string, unknown>> = { sub: 'alice' }): string {
    const caller = createCaller(createRules(written), claims);
    const shown = (['a', 'b'] as const).filter((name) => isListed(caller, version, 'tool', name)).join('');
    const others = [
      isListed(caller, version, 'prompt', 'a') ? 'p' : '',
      isListed(caller, version, 'resource', 'a') ? 'r' : '',
    ];
    return `${shown}${others.join('')}`;
  }

  for (const [action, expressions, shown] of [
    ['Allow', ['jwt.sub == "alice"'], 'abpr'],
    ['Allow', ['mcp.tool.name == "a"'], 'a'],
    ['Allow', ['mcp.method == "tools/call"'], 'ab'],
    ['Allow', ['mcp.method == "prompts/get"', 'mcp.method == "resources/read"'], 'pr'],
    ['Deny', ['mcp.tool.name == "a"'], 'bpr'],
    ['Deny', ['mcp.method == "tools/list"'], 'abpr'],
    // What depends on arguments is shown.
    ['Allow', ['mcp.tool.arguments.x == 1'], 'ab'],
    ['Deny', ['mcp.tool.arguments.x == 1'], 'abpr'],
    ['Deny', ['has(mcp.tool.arguments.x)'], 'abpr'],
    ['Require', ['mcp.tool.arguments.x == 1'], 'abpr'],
    ['Require', ['has(mcp.tool.arguments.reason)'], 'abpr'],
    // Unless another expression decides against it.
    ['Deny', ['mcp.tool.arguments.x == 1', 'mcp.tool.name == "a"'], 'bpr'],
    ['Require', ['mcp.tool.arguments.x == 1', 'jwt.sub == "bob"'], ''],
    ['Allow', ['mcp.tool.arguments.x == 1', 'mcp.prompt.name == "a"'], 'abp'],
    // Or the expression itself does, whatever the arguments are.
    ['Allow', ['mcp.tool.name == "a" && mcp.tool.arguments.x == 1'], 'a'],
    ['Deny', ['mcp.tool.name == "a" || mcp.tool.arguments.x == 1'], 'bpr'],
    ['Require', ['mcp.tool.name == "a" && mcp.tool.arguments.x == 1'], 'apr'],
  ] as const)
    test(`${action} ${expressions.join(', ')}: ${shown}`, () => assert.equal(list({ action, expressions }), shown));

  test('each is judged once per request', () => {
    const rules = createRules({ expressions: ['mcp.tool.name == "a"'] });
    const [rule] = rules.rules.allow;
    let asked = 0;
    const counted = {
      ...rule!.expressions[0]!,
      evaluate(variables: ExpressionVariables) {
        asked += 1;
        return rule!.expressions[0]!.evaluate(variables);
      },
    };
    const counting = { ...rules, rules: { ...rules.rules, allow: [{ ...rule!, expressions: [counted] }] } };
    const judge = createItemJudge(createCaller(counting), version);
    assert.deepEqual(
      [judge('tool', 'a'), judge('tool', 'b'), judge('tool', 'a'), judge('tool', 'b'), judge('prompt', 'a')],
      [true, false, true, false, false],
    );
    assert.equal(asked, 2);
  });
});

test('a resource is allowed in every spelling of its URI, or in none', () => {
  const allows = (written: WrittenRules, name: string): boolean =>
    judgeItemMessage(createCaller(createRules(written)), 'resources/read', version, { kind: 'resource', name }).decision
      .allowed;
  const allowed: WrittenRules = { expressions: ['mcp.resource.uri.startsWith("file:///public/")'] };
  const denied: WrittenRules = { action: 'Deny', expressions: ['mcp.resource.uri == "file:///secret"'] };
  for (const [uri, isAllowed, isNotDenied] of [
    ['file:///public/a', true, true],
    ['file:///public/a/../b', true, true],
    ['file:///public/../secret', false, false],
    ['FILE:/%73ecret', false, false],
    ['FILE:///public/a', false, true],
  ] as const) {
    assert.equal(allows(allowed, uri), isAllowed, uri);
    assert.equal(allows(denied, uri), isNotDenied, uri);
  }
});

describe('in a federation', () => {
  const findOwnItem = createOwnItemFinder(createFederation({ tickets: 'tix', crm: 'crm' }));

  /** What of these is allowed: tix_close, crm_close, other_close, the prompts tix_a and crm_a. */
  function judgeNames(written: WrittenRules): string {
    const caller = { ...createCaller(createRules(written)), findOwnItem };
    const items: readonly Item[] = [
      ...['tix_close', 'crm_close', 'other_close'].map((name) => ({ kind: 'tool', name }) as const),
      ...['tix_a', 'crm_a'].map((name) => ({ kind: 'prompt', name }) as const),
    ];
    const isAllowed = ({ kind, name }: Item): boolean =>
      judgeItemMessage(caller, kind === 'tool' ? 'tools/call' : 'prompts/get', version, { kind, name }).decision
        .allowed && isListed(caller, version, kind, name);
    return items
      .filter(isAllowed)
      .map(({ name }) => name)
      .join(' ');
  }

  for (const [action, expression, allowed] of [
    ['Allow', 'mcp.target.name == "tickets"', 'tix_close tix_a'],
    ['Allow', 'mcp.target.tool == "close"', 'tix_close crm_close'],
    ['Allow', 'mcp.tool.name == "tix_close"', 'tix_close'],
    ['Allow', 'mcp.target.name == "crm" && mcp.target.prompt == "a"', 'crm_a'],
    ['Deny', 'mcp.target.name == "crm"', 'tix_close tix_a'],
    ['Deny', 'mcp.target.tool == "close" && mcp.target.name == "crm"', 'tix_close tix_a crm_a'],
    ['Require', 'mcp.target.name in ["crm"]', 'crm_close crm_a'],
  ] as const)
    test(`${action} ${expression}: ${allowed}`, () =>
      assert.equal(judgeNames({ action, expressions: [expression] }), allowed));

  /** Whether the resource may be read. */
  function reads(written: WrittenRules, name: string): boolean {
    const caller = { ...createCaller(createRules(written)), findOwnItem };
    const item: Item = { kind: 'resource', name };
    return (
      judgeItemMessage(caller, 'resources/read', version, item).decision.allowed &&
      isListed(caller, version, 'resource', name)
    );
  }

  test('spellings are those of the URI that the server knows, with the prefix', () => {
    for (const expression of ['mcp.resource.uri == "tix+file:///secret"', 'mcp.target.uri == "file:///secret"']) {
      const rules = { action: 'Deny', expressions: [expression] } as const;
      assert.equal(reads(rules, 'tix+file:///public'), true);
      for (const uri of ['tix+file:///secret', 'tix+FILE:///secret', 'tix+file:///%73ecret', 'tix+file:///a/../secret'])
        assert.equal(reads(rules, uri), false, uri);
    }
    const ofPages = { action: 'Deny', expressions: ['mcp.resource.uri == "ui://tix/secret"'] } as const;
    assert.equal(reads(ofPages, 'ui://tix/secret'), false);
    assert.equal(reads(ofPages, 'ui://crm/secret'), true);
  });

  test('a URI that is ambiguous to its server is not listed', () => {
    const rules = { action: 'Allow', expressions: ['mcp.target.uri.startsWith("file:///")'] } as const;
    assert.equal(reads(rules, 'tix+file:///a'), true);
    // `file://host/a` is ambiguous only as a file.
    assert.equal(reads(rules, 'tix+file:///a?b'), false);
    assert.equal(reads(rules, 'tix+file:///a%2fb'), false);
  });
});

describe('in a federation whose names have no prefixes', () => {
  const findOwnItem = chooseOwnItemFinder(createFederation({ tickets: 'tix', crm: 'crm' }, 'never'));
  const items: readonly Item[] = [
    { kind: 'tool', name: 'close' },
    { kind: 'prompt', name: 'ask' },
    { kind: 'resource', name: 'file:///a' },
  ];

  /** What of these is allowed, and whether lists agree. */
  function judgeItems(written: WrittenRules): string {
    const caller = { ...createCaller(createRules(written)), findOwnItem };
    const allowed = items.filter((item) => {
      const { decision } = judgeItemMessage(caller, `${item.kind}s/x`, version, item);
      assert.equal(isListed(caller, version, item.kind, item.name), decision.allowed);
      return decision.allowed;
    });
    return allowed.map(({ kind }) => kind).join(' ');
  }

  for (const [action, expression, allowed] of [
    ['Deny', 'mcp.target.name == "crm"', ''],
    ['Deny', 'has(mcp.target) && mcp.target.name == "crm"', ''],
    ['Deny', 'has(mcp.target.tool) && mcp.target.tool == "wipe"', 'prompt resource'],
    ['Deny', 'mcp.tool.name == "wipe" && mcp.target.name == "crm"', 'prompt resource'],
    ['Require', '!has(mcp.target)', ''],
    ['Allow', 'mcp.target.name == "crm" || true', ''],
    ['Allow', 'mcp.tool.name == "close"', 'tool'],
    ['Deny', 'mcp.tool.name == "close"', 'prompt resource'],
  ] as const)
    test(`${action} ${expression}: ${allowed}`, () =>
      assert.equal(judgeItems({ action, expressions: [expression] }), allowed));

  test('the reason is told', () => {
    const rules = createRules({ action: 'Deny', expressions: ['mcp.target.name == "crm"'] });
    const { decision } = judgeItemMessage({ ...createCaller(rules), findOwnItem }, 'tools/call', version, items[0]!);
    assert.match(decision.problem ?? '', /names\.prefix: Never/);
  });
});
