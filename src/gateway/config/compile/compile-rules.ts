// All rules of a configuration, on all listeners that serve them, by hostname. Unchanged parts are reused from the previous compilation:
// rules with the same message, backends and policies, and match lists of hostnames whose rules are all unchanged.
import type { Listener, Route } from '../../../ir/gen/config_pb.ts';
import { compileRegularExpression, type RegularExpression } from '../../route/table/regular-expression.ts';
import type { RouteMatchEntry } from '../../route/table/route-table.ts';
import type { BackendView, BackendViews } from './backend-views.ts';
import type { FoundPolicies, PolicyIndex } from './compile-policies.ts';
import type { ReportProblem } from './compile-problem.ts';
import { attachRule, type CompiledRule, compileRule, readRuleHostnames } from './compile-routes.ts';
import { areReadsStillValid, ReadRecorder, type Reads } from './recorded-reads.ts';
import type { RouteConfig } from '../runtime-config.ts';
import type { TakeoverCache } from './takeover-cache.ts';

/** Compiled expressions by source. */
export type ExpressionCache = TakeoverCache<RegularExpression>;

/** The matches of one hostname. An unchanged list is the same object as before. */
export type MatchList = readonly RouteMatchEntry<RouteConfig>[];

/** The matches of one listener by hostname pattern. */
export type MatchesByHostname = ReadonlyMap<string, MatchList>;

/** The parts of a configuration that rules refer to. */
interface RuleParts {
  readonly backends: BackendViews;
  readonly policies: PolicyIndex;
  readonly expressions: ExpressionCache;
  readonly report: ReportProblem;
}

/** All rules, arranged. */
export interface CompiledRules {
  /** By key of the listener. */
  readonly matches: ReadonlyMap<string, MatchesByHostname>;
  /** For the next compilation. */
  readonly memos: ReadonlyMap<Route, RuleMemo>;
  readonly policies: PolicyIndex;
}

/** One compiled rule, and what it depends on besides its message. */
interface RuleMemo {
  readonly rule: CompiledRule;
  readonly backendReads: Reads<BackendView>;
  readonly expressions: readonly string[];
  readonly attachments: readonly Attachment[];
}

/** A rule on one listener. */
interface Attachment {
  readonly listener: string;
  /** Undefined: there is no such listener. */
  readonly served:
    | {
        readonly gateway: string;
        readonly name: string;
        readonly found: FoundPolicies;
        readonly patterns: ReadonlySet<string>;
        readonly entries: MatchList;
      }
    | undefined;
  readonly problems: readonly string[];
}

/** Compiles rules, given in the order of their keys, for listeners. */
export function compileRules(
  routes: readonly Route[],
  listeners: readonly Listener[],
  parts: RuleParts,
  before?: CompiledRules,
): CompiledRules {
  const byKey = new Map(listeners.map((listener) => [listener.key, listener]));
  const recorder = new ReadRecorder(parts.backends);
  const memos = new Map<Route, RuleMemo>();
  const arePoliciesSame = before?.policies === parts.policies;
  let isSame = before?.memos.size === routes.length;
  for (const route of routes) {
    const known = before?.memos.get(route);
    const isSameRule = known !== undefined && areReadsStillValid(known.backendReads, parts.backends);
    const memo = isSameRule
      ? refreshAttachments(known, byKey, parts.policies, arePoliciesSame)
      : compileAnew(route, byKey, parts, recorder);
    if (isSameRule) for (const source of memo.expressions) parts.expressions.keep(source);
    if (memo !== known) isSame = false;
    memos.set(route, memo);
    for (const problem of memo.rule.problems) parts.report(route.key, problem);
    for (const { problems } of memo.attachments) for (const problem of problems) parts.report(route.key, problem);
  }
  const { policies } = parts;
  if (before !== undefined && isSame) return { ...before, policies };
  return { matches: arrangeByHostname(memos.values(), before?.matches), memos, policies };
}

function arrangeByHostname(
  memos: Iterable<RuleMemo>,
  before: CompiledRules['matches'] | undefined,
): CompiledRules['matches'] {
  const matches = new Map<string, Map<string, RouteMatchEntry<RouteConfig>[]>>();
  for (const { attachments } of memos) {
    for (const { listener, served } of attachments) {
      if (served === undefined) continue;
      const ofListener = getOrCreate(matches, listener, () => new Map<string, RouteMatchEntry<RouteConfig>[]>());
      for (const pattern of served.patterns) {
        const list = ofListener.get(pattern);
        if (list === undefined) ofListener.set(pattern, [...served.entries]);
        else list.push(...served.entries);
      }
    }
  }
  return before === undefined ? matches : takeOverLists(matches, before);
}

function compileAnew(
  route: Route,
  listeners: ReadonlyMap<string, Listener>,
  { policies, expressions }: RuleParts,
  recorder: ReadRecorder<BackendView>,
): RuleMemo {
  const sources: string[] = [];
  const rule = compileRule(route, {
    backends: recorder,
    getExpression(source) {
      sources.push(source);
      return expressions.get(source, () => compileRegularExpression(source));
    },
  });
  const attachments = [...joinParents(route.parents)].map(([key, hostnames]) =>
    attachTo(key, listeners.get(key), hostnames, rule, policies),
  );
  return { rule, backendReads: recorder.take(), expressions: sources, attachments };
}

/** For an unchanged rule whose listeners or policies may have changed. */
function refreshAttachments(
  memo: RuleMemo,
  listeners: ReadonlyMap<string, Listener>,
  policies: PolicyIndex,
  arePoliciesSame: boolean,
): RuleMemo {
  const isSame = memo.attachments.every(({ listener, served }) => {
    const now = listeners.get(listener);
    if (now === undefined || served === undefined) return now === served;
    if (now.gateway !== served.gateway || now.name !== served.name) return false;
    return arePoliciesSame || policies.wouldFind(served.found);
  });
  if (isSame) return memo;
  const { rule } = memo;
  const attachments = [...joinParents(rule.message.parents)].map(([key, hostnames]) =>
    attachTo(key, listeners.get(key), hostnames, rule, policies),
  );
  return { ...memo, attachments };
}

function attachTo(
  key: string,
  listener: Listener | undefined,
  hostnames: readonly string[],
  rule: CompiledRule,
  policies: PolicyIndex,
): Attachment {
  if (listener === undefined)
    return { listener: key, served: undefined, problems: [`the listener ${key} does not exist`] };
  const problems: string[] = [];
  const { gateway, name } = listener;
  const { httpRoute, ruleName } = rule.message;
  const found = policies.lookUpRule({ gateway, listenerName: name, httpRoute, ruleName });
  const route = attachRule(rule, found);
  const patterns = readRuleHostnames(hostnames, (problem) => problems.push(problem));
  const entries = rule.matches.map((match) => ({ ...match, route }));
  return { listener: key, served: { gateway, name, found, patterns, entries }, problems };
}

/** A rule may name a listener twice, once per parentRef: the hostnames are joined. No hostnames means any. */
function joinParents(
  parents: readonly { readonly listener: string; readonly hostnames: readonly string[] }[],
): Map<string, string[]> {
  const joined = new Map<string, string[]>();
  for (const { listener, hostnames } of parents) {
    getOrCreate(joined, listener, () => []).push(...(hostnames.length === 0 ? [''] : hostnames));
  }
  return joined;
}

/** Replaces lists by equal ones of the previous compilation, so that everything computed from them can be reused. */
function takeOverLists(
  matches: ReadonlyMap<string, Map<string, MatchList>>,
  before: ReadonlyMap<string, MatchesByHostname>,
): ReadonlyMap<string, MatchesByHostname> {
  for (const [listener, lists] of matches) {
    const known = before.get(listener);
    if (known === undefined) continue;
    for (const [pattern, list] of lists) {
      const other = known.get(pattern);
      if (other !== undefined && areSameEntries(list, other)) lists.set(pattern, other);
    }
  }
  return matches;
}

function areSameEntries(left: MatchList, right: MatchList): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

function getOrCreate<V>(map: Map<string, V>, key: string, createValue: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = createValue();
    map.set(key, value);
  }
  return value;
}
