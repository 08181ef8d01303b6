import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AuthorizationAction,
  McpAuthorizationSchema,
  PolicySchema,
  PolicyTargetKind,
} from '../../../ir/gen/config_pb.ts';
import type { McpAuthorizationConfig } from '../mcp-authorization-config.ts';
import { compileMcpAuthorization } from './compile-mcp-authorization.ts';
import { PolicyCompiler } from './compile-policy.ts';
import { TakeoverCache } from './takeover-cache.ts';

const place = { policy: 'default/rules', level: 'ProxyBackend', target: 'ProxyBackend default/tickets' } as const;

function compile(
  message: MessageInitShape<typeof McpAuthorizationSchema>,
  cache?: TakeoverCache<McpAuthorizationConfig>,
): McpAuthorizationConfig {
  return compileMcpAuthorization(create(McpAuthorizationSchema, message), place, cache);
}

const rules = (
  action: AuthorizationAction,
  ...expressions: string[]
): MessageInitShape<typeof McpAuthorizationSchema> => ({
  rules: { action, expressions },
});

test('rules are sorted by what they do, and say where they come from', () => {
  const {
    rules: set,
    source,
    hasRules,
  } = compile(rules(AuthorizationAction.DENY, 'mcp.tool.name == "a"', 'jwt.sub == "b"'));
  assert.equal(source, 'default/rules');
  assert.equal(hasRules, true);
  assert.deepEqual([set.require, set.allow], [[], []]);
  assert.deepEqual(
    set.deny.map(({ expressions, ...rest }) => ({
      ...rest,
      sources: expressions.map((expression) => expression.source),
    })),
    [{ ...place, action: 'Deny', sources: ['mcp.tool.name == "a"', 'jwt.sub == "b"'] }],
  );
});

test('scopes alone are no rules', () => {
  const compiled = compile({ scopes: [{ methods: ['tools/call'], tools: [], scopes: ['a'] }] });
  assert.equal(compiled.hasRules, false);
  assert.deepEqual(compiled.rules, { deny: [], require: [], allow: [], allowOverrides: [] });
  assert.deepEqual([...compiled.scopes[0]!.methods!], ['tools/call']);
  assert.equal(compiled.scopes[0]!.matchesTool, undefined);
});

describe('patterns of tools', () => {
  for (const [pattern, matching, others] of [
    ['a', ['a'], ['A', 'aa', '', 'b']],
    ['a*', ['a', 'ab', 'a*'], ['ba', '']],
    ['*a', ['a', 'ba'], ['ab', '']],
    ['a*b*c', ['abc', 'axbxc', 'abbc', 'abcbc'], ['ac', 'acb', 'abcd', 'abx']],
    ['ab*ba', ['abba', 'abxba'], ['aba', 'abab']],
    ['*', ['', 'anything'], []],
    ['**', ['', 'x'], []],
    ['a.b', ['a.b'], ['aXb', 'a-b']],
    ['a+(b)?[c]$', ['a+(b)?[c]$'], ['aab', 'ac']],
  ] as const)
    test(pattern, () => {
      const { matchesTool } = compile({ scopes: [{ tools: [pattern], scopes: ['s'] }] }).scopes[0]!;
      for (const name of matching) assert.equal(matchesTool!(name), true, name);
      for (const name of others) assert.equal(matchesTool!(name), false, name);
    });

  test('many stars take no longer', () => {
    const pattern = `${'a*'.repeat(100)}b`;
    const { matchesTool } = compile({ scopes: [{ tools: [pattern], scopes: ['s'] }] }).scopes[0]!;
    assert.equal(matchesTool!('a'.repeat(100_000)), false);
    assert.equal(matchesTool!(`${'a'.repeat(100_000)}b`), true);
  });
});

test('methods that are named: by constants of expressions and by scopes', () => {
  const { namedMethods } = compile({
    rules: {
      action: AuthorizationAction.ALLOW,
      expressions: [
        `mcp.method in ["custom/one", 'custom/two'] || mcp.method == r"custom/three"`,
        'mcp.method.startsWith("x/")',
      ],
    },
    scopes: [{ methods: ['custom/four'], scopes: ['s'] }],
  });
  for (const method of ['custom/one', 'custom/two', 'custom/three', 'custom/four', 'x/'])
    assert.equal(namedMethods.has(method), true, method);
  assert.equal(namedMethods.has('x/y'), false);
});

test('keys of arguments that rules read, on every level', () => {
  const { argumentKeys } = compile(
    rules(
      AuthorizationAction.DENY,
      'mcp.tool.arguments.Path == "a"',
      'mcp.tool.arguments.user.id == 1',
      'mcp.tool.arguments.files.exists(f, f.owner == jwt.sub)',
      'jwt.teams.exists(t, t.lead)',
    ),
  );
  assert.deepEqual(
    ['path', 'user', 'id', 'files', 'owner', 'sub', 'lead', 'name'].map((key) => argumentKeys.get(key)),
    [['Path'], ['user'], ['id'], ['files'], ['owner'], undefined, undefined, undefined],
  );
});

describe('while arguments are not known an expression over them speaks for the item', () => {
  for (const [name, action, value] of [
    ['Allow', AuthorizationAction.ALLOW, true],
    ['Deny', AuthorizationAction.DENY, false],
    ['Require', AuthorizationAction.REQUIRE, true],
  ] as const)
    test(name, () => {
      const { withoutArguments } = compile(rules(action, 'mcp.tool.arguments.x == 1', 'mcp.tool.name == "a"'));
      assert.deepEqual([...withoutArguments.values()], [{ ok: true, value }]);
      assert.deepEqual(
        [...withoutArguments.keys()].map(({ source }) => source),
        ['mcp.tool.arguments.x == 1'],
      );
    });
});

describe('what cannot be enforced closes the backend', () => {
  const cases: readonly [string, MessageInitShape<typeof McpAuthorizationSchema>, RegExp][] = [
    ['neither rules nor scopes', {}, /neither rules nor scopes/],
    ['rules without expressions', rules(AuthorizationAction.ALLOW), /no expressions/],
    ['an expression that does not compile', rules(AuthorizationAction.ALLOW, 'jwt.sub =='), /matchExpressions\[0\]/],
    ['an action that is not known', rules(9 as AuthorizationAction, 'true'), /the action 9 is not known/],
    ['an entry without scopes', { scopes: [{ methods: ['ping'], scopes: [] }] }, /an entry of scopes lists no scope/],
  ];
  for (const [name, message, problem] of cases)
    test(name, () => assert.throws(() => compile(message), { code: 'invalid_policy', message: problem }));

  for (const [name, kind] of [
    ['a Gateway', PolicyTargetKind.GATEWAY],
    ['an HTTPRoute', PolicyTargetKind.HTTP_ROUTE],
  ] as const)
    test(`${name} as the target`, () => {
      const policy = create(PolicySchema, {
        source: place.policy,
        target: { kind, namespace: 'default', name: 'tickets' },
        spec: { case: 'mcpAuthorization', value: rules(AuthorizationAction.ALLOW, 'true') },
      });
      const compiler = new PolicyCompiler({
        secrets: new Map(),
        backends: new Map(),
        acquireAuthentication: undefined,
        acquireJwtAuthentication: undefined,
      });
      const compiled = compiler.compile(policy);
      assert.equal(compiled.kind, 'failure');
      assert.match(compiled.problems.join(), /a ProxyBackend only/);
    });
});

test('rules that did not change are the same object', () => {
  const first = new TakeoverCache<McpAuthorizationConfig>(undefined);
  const before = compile(rules(AuthorizationAction.ALLOW, 'jwt.sub == "a"'), first);
  first.seal();
  const second = new TakeoverCache<McpAuthorizationConfig>(first);
  assert.equal(compile(rules(AuthorizationAction.ALLOW, 'jwt.sub == "a"'), second), before);
  assert.notEqual(compile(rules(AuthorizationAction.DENY, 'jwt.sub == "a"'), second), before);
  assert.notEqual(compile(rules(AuthorizationAction.ALLOW, 'jwt.sub == "b"'), second), before);
  second.seal();
});
