// A policy message with rules over MCP messages -> compiled rules.
import { toJsonString } from '@bufbuild/protobuf';
import { listElementFields, listLoopConstants, listStringConstants } from '../../../cel/expression-mentions.ts';
import type { Expression, ExpressionOutcome } from '../../../cel/expression.ts';
import { type McpAuthorization, McpAuthorizationSchema, type ScopeRequirement } from '../../../ir/gen/config_pb.ts';
import { readReach } from '../../mcp/judge/expression-reach.ts';
import { foldKeys } from '../../mcp/read/known-keys.ts';
import type { McpAuthorizationConfig, ScopeRule } from '../mcp-authorization-config.ts';
import type { Rule, RuleSet } from '../rule-set.ts';
import type { PolicyPlace } from '../policy-level.ts';
import { compileNamePatterns } from './name-patterns.ts';
import { PolicyError } from './policy-error.ts';
import { collectRules, compileRules } from './compile-authorization.ts';
import type { TakeoverCache } from './takeover-cache.ts';

/** Compiled rules by their content. */
export type McpAuthorizationCache = TakeoverCache<McpAuthorizationConfig>;

const noRules: RuleSet = { deny: [], require: [], allow: [], allowOverrides: [] };

/** Compiles the rules, or throws: then the backend is closed. */
export function compileMcpAuthorization(
  message: McpAuthorization,
  place: PolicyPlace,
  cache?: McpAuthorizationCache,
): McpAuthorizationConfig {
  if (cache === undefined) return compileAnew(message, place);
  return cache.get(describeMcpAuthorization(message, place), () => compileAnew(message, place));
}

/** The cache key of rules with this content. */
export function describeMcpAuthorization(message: McpAuthorization, place: PolicyPlace): string {
  return JSON.stringify([place, toJsonString(McpAuthorizationSchema, message)]);
}

function compileAnew(message: McpAuthorization, place: PolicyPlace): McpAuthorizationConfig {
  if (message.rules === undefined && message.scopes.length === 0)
    throw new PolicyError('the policy has neither rules nor scopes');
  const rule = message.rules === undefined ? undefined : compileRules(message.rules, place, 'mcp');
  const expressions = rule?.expressions ?? [];
  return {
    source: place.policy,
    rules: (rule === undefined ? undefined : collectRules([rule])) ?? noRules,
    hasRules: rule !== undefined,
    scopes: message.scopes.map(compileScopes),
    namedMethods: new Set([
      ...expressions.flatMap(({ source }) => listStringConstants(source)),
      ...message.scopes.flatMap(({ methods }) => methods),
    ]),
    argumentKeys: foldKeys(expressions.flatMap(listArgumentKeys)),
    withoutArguments: rule === undefined ? new Map() : assumeForItem(rule),
    readsResources: expressions.some((expression) => readReach(expression).uri),
  };
}

function compileScopes({ methods, tools, scopes }: ScopeRequirement): ScopeRule {
  if (scopes.length === 0) throw new PolicyError('an entry of scopes lists no scope');
  return {
    methods: methods.length === 0 ? undefined : new Set(methods),
    matchesTool: tools.length === 0 ? undefined : compileNamePatterns(tools),
    scopes,
  };
}

/** Every key below `mcp.tool.arguments` on the paths that the expression reads, also in list elements and in keys that a comprehension looks for. */
function listArgumentKeys(expression: Expression): readonly string[] {
  if (!readReach(expression).arguments) return [];
  const named = expression.reads.flatMap((path) =>
    path[0] === 'mcp' && path[1] === 'tool' && path[2] === 'arguments' ? path.slice(3) : [],
  );
  return [...named, ...listElementFields(expression.source), ...listLoopConstants(expression.source)];
}

function assumeForItem({ action, expressions }: Rule): ReadonlyMap<Expression, ExpressionOutcome> {
  const outcome: ExpressionOutcome = { ok: true, value: action !== 'Deny' };
  return new Map(
    expressions.filter((expression) => readReach(expression).arguments).map((expression) => [expression, outcome]),
  );
}
