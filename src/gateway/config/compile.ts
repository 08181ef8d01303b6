// Compiles a configuration into what the request path uses. Order: secrets, backends, policies, rules, listeners; each step is a file.
import type { Configuration } from '../../ir/configuration.ts';
import type { AcquireJwtAuthentication } from '../policies/jwt-authentication/jwt-authentication-registry.ts';
import type { AcquireAuthentication } from '../policies/mcp-authentication/authentication-registry.ts';
import type { RouteMatchEntry } from '../route/route-table.ts';
import type { CertificateCache } from './certificates.ts';
import { compileBackends } from './compile-backends.ts';
import { compileListeners } from './compile-listeners.ts';
import type { MessageRulesCache } from './compile-mcp-authorization.ts';
import { PolicyIndex } from './compile-policies.ts';
import type { CompileProblem, ReportProblem } from './compile-problem.ts';
import {
  attachRule,
  compileRule,
  type ExpressionCache,
  readRuleHostnames,
  type RouteSurroundings,
} from './compile-routes.ts';
import { TakeoverCache } from './takeover-cache.ts';
import type { RouteConfig, RuntimeConfig } from './runtime-config.ts';

/** What the next compilation may take over, beside the runtime configuration and without a place in it. */
const leftovers = new WeakMap<
  RuntimeConfig,
  {
    readonly certificates: CertificateCache;
    readonly expressions: ExpressionCache;
    readonly messageRules: MessageRulesCache;
  }
>();

/** Where policies get what lives longer than a configuration. Without it those that need it close their targets. */
export interface PolicyConnections {
  readonly acquireAuthentication?: AcquireAuthentication | undefined;
  readonly acquireJwtAuthentication?: AcquireJwtAuthentication | undefined;
}

/** A compiled configuration, and what of it could not be compiled. */
export interface Compilation {
  readonly runtime: RuntimeConfig;
  readonly problems: readonly CompileProblem[];
}

/**
 * Compiles all messages; never throws on any of them. What cannot be compiled is a problem and fails closed; the rest works.
 * The order of the messages makes no difference. `previous` lends what did not change; connections to identity providers come from
 * `connections`.
 */
export function compile(
  configuration: Configuration,
  previous?: RuntimeConfig,
  { acquireAuthentication, acquireJwtAuthentication }: PolicyConnections = {},
): Compilation {
  const problems: CompileProblem[] = [];
  const report: ReportProblem = (key, message) => problems.push({ key, message });
  const before = previous === undefined ? undefined : leftovers.get(previous);
  const certificates: CertificateCache = new TakeoverCache(before?.certificates);
  const expressions: ExpressionCache = new TakeoverCache(before?.expressions);
  const messageRules: MessageRulesCache = new TakeoverCache(before?.messageRules);

  const secrets = new Map(sortByKey(configuration.secrets, report).map((secret) => [secret.key, secret]));
  const backendMessages = sortByKey(configuration.backends, report);
  const backends = compileBackends(backendMessages, secrets, previous?.backends, report);
  // Two policies with one key both apply: leaving one out could open what it closes.
  const policies = new PolicyIndex(
    configuration.policies.toSorted(compareKeys),
    { secrets, backends, acquireAuthentication, acquireJwtAuthentication, messageRules },
    report,
  );
  const listeners = sortByKey(configuration.listeners, report);
  const surroundings = {
    backends,
    knownBackends: new Set(backendMessages.map(({ key }) => key)),
    policies,
    expressions,
    report,
  };
  const matches = compileRoutes(configuration, listeners, surroundings);
  const ports = compileListeners(listeners, matches, secrets, certificates, report);

  certificates.seal();
  expressions.seal();
  messageRules.seal();
  const runtime: RuntimeConfig = {
    version: (previous?.version ?? 0) + 1,
    ports,
    backends,
    authentications: policies.listAuthentications(),
    jwtAuthentications: policies.listJwtAuthentications(),
    policyConflicts: policies.conflicts,
  };
  leftovers.set(runtime, { certificates, expressions, messageRules });
  return { runtime, problems };
}

function compileRoutes(
  configuration: Configuration,
  listeners: readonly { readonly key: string; readonly gateway: string; readonly name: string }[],
  surroundings: RouteSurroundings,
): Map<string, Map<string, RouteMatchEntry<RouteConfig>[]>> {
  const { policies, report } = surroundings;
  const byKey = new Map(listeners.map((listener) => [listener.key, listener]));
  const matches = new Map<string, Map<string, RouteMatchEntry<RouteConfig>[]>>();
  for (const route of sortByKey(configuration.routes, report)) {
    const rule = compileRule(route, surroundings);
    for (const [key, hostnames] of joinParents(route.parents)) {
      const listener = byKey.get(key);
      if (listener === undefined) {
        report(route.key, `the listener ${key} does not exist`);
        continue;
      }
      const config = attachRule(rule, listener, policies);
      const ofListener = getOrCreate(matches, key, () => new Map<string, RouteMatchEntry<RouteConfig>[]>());
      for (const pattern of readRuleHostnames(route, hostnames, report)) {
        const entries = getOrCreate(ofListener, pattern, () => []);
        for (const match of rule.matches) entries.push({ ...match, route: config });
      }
    }
  }
  return matches;
}

/** A rule may name a listener twice, once per parentRef: its hostnames there are all of them. No hostnames means any. */
function joinParents(
  parents: readonly { readonly listener: string; readonly hostnames: readonly string[] }[],
): Map<string, string[]> {
  const joined = new Map<string, string[]>();
  for (const { listener, hostnames } of parents) {
    getOrCreate(joined, listener, () => []).push(...(hostnames.length === 0 ? [''] : hostnames));
  }
  return joined;
}

function getOrCreate<V>(map: Map<string, V>, key: string, createValue: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = createValue();
    map.set(key, value);
  }
  return value;
}

function compareKeys(left: { readonly key: string }, right: { readonly key: string }): number {
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0;
}

function sortByKey<M extends { readonly key: string }>(messages: readonly M[], report: ReportProblem): M[] {
  const sorted = messages.toSorted(compareKeys);
  return sorted.filter((message, index) => {
    const isRepeated = index > 0 && sorted[index - 1]!.key === message.key;
    if (isRepeated) report(message.key, 'there are two messages with this key; one of them is not used');
    return !isRepeated;
  });
}
