// Compiles a configuration into the form the request path uses. Order: secrets, backends, policies, rules, listeners; each step is a file.
// A change is usually one message among thousands. Each step therefore reuses the previous results of messages that are the same objects and
// whose references are unchanged. The outcome equals a compilation from scratch.
import type { Configuration } from '../../../ir/configuration.ts';
import type { AcquireJwtAuthentication } from '../../authentication/jwt/jwt-authentication-registry.ts';
import type { AcquireAuthentication } from '../../authentication/mcp/mcp-authentication-registry.ts';
import { readSealKeys } from './compile-mcp-authentication.ts';
import { BackendViews } from './backend-views.ts';
import type { CertificateCache } from './certificates.ts';
import { closeWaitingListeners } from './close-waiting-listeners.ts';
import { compileBackends, type CompiledBackends } from './compile-backends.ts';
import { compileListeners } from './compile-listeners.ts';
import type { McpAuthorizationCache } from './compile-mcp-authorization.ts';
import { indexPolicies, type PolicyIndex } from './compile-policies.ts';
import type { CompileProblem, ReportProblem } from './compile-problem.ts';
import { type CompiledRules, compileRules, type ExpressionCache } from './compile-rules.ts';
import { TakeoverCache } from './takeover-cache.ts';
import type { RuntimeConfig } from '../runtime-config.ts';

/** What the next compilation may reuse besides the runtime configuration. */
interface CompilationMemo {
  readonly certificates: CertificateCache;
  readonly expressions: ExpressionCache;
  readonly mcpAuthorizations: McpAuthorizationCache;
  readonly backends: CompiledBackends;
  readonly policies: PolicyIndex;
  readonly views: BackendViews;
  readonly rules: CompiledRules;
}

const compilationMemos = new WeakMap<RuntimeConfig, CompilationMemo>();

/** Sources of connections that outlive a configuration. Without them, policies that need one close their targets. */
export interface PolicyConnections {
  readonly acquireAuthentication?: AcquireAuthentication | undefined;
  readonly acquireJwtAuthentication?: AcquireJwtAuthentication | undefined;
  /** Test tokens are accepted where a policy says so: from files only. Refused when absent. */
  readonly acceptsTestIssuers?: boolean | undefined;
}

/** A compiled configuration and its problems. */
export interface Compilation {
  readonly runtime: RuntimeConfig;
  readonly problems: readonly CompileProblem[];
}

/**
 * Compiles all messages; never throws on any of them. A message that cannot be compiled is a problem and fails closed; the rest works.
 * The order of the messages makes no difference. Unchanged parts come from `previous`, which must be the configuration in force: connections to
 * identity providers from `connections` may be closed as soon as nothing in force uses them.
 */
export function compile(
  given: Configuration,
  previous?: RuntimeConfig,
  { acquireAuthentication, acquireJwtAuthentication, acceptsTestIssuers = false }: PolicyConnections = {},
): Compilation {
  const configuration = closeWaitingListeners(given);
  const problems: CompileProblem[] = [];
  const reportOn =
    (list: keyof Configuration): ReportProblem =>
    (key, message) =>
      void problems.push({ list, key, message });
  const before = previous === undefined ? undefined : compilationMemos.get(previous);
  const certificates: CertificateCache = new TakeoverCache(before?.certificates);
  const expressions: ExpressionCache = new TakeoverCache(before?.expressions);
  const mcpAuthorizations: McpAuthorizationCache = new TakeoverCache(before?.mcpAuthorizations);

  const secrets = new Map(
    dropRepeated(configuration.secrets, reportOn('secrets')).map((secret) => [secret.key, secret]),
  );
  const backendMessages = dropRepeated(configuration.backends, reportOn('backends'));
  const backends = compileBackends(backendMessages, secrets, before?.backends, reportOn('backends'));
  // Two policies with one key both apply: leaving one out could open what it closes.
  const policies = indexPolicies(
    sortByKey(configuration.policies),
    {
      secrets,
      backends: backends.configs,
      acquireAuthentication,
      acquireJwtAuthentication,
      acceptsTestIssuers,
      mcpAuthorizations,
    },
    reportOn('policies'),
    before?.policies,
  );
  const listeners = dropRepeated(configuration.listeners, reportOn('listeners'));
  const knownBackends = new Set(backendMessages.map(({ key }) => key));
  const views = new BackendViews(
    (key) => (backends.configs.has(key) ? 'usable' : knownBackends.has(key) ? 'broken' : 'missing'),
    policies,
    before?.views,
  );
  const routes = dropRepeated(configuration.routes, reportOn('routes'));
  const parts = { backends: views, policies, expressions, report: reportOn('routes') };
  const rules = compileRules(routes, listeners, parts, before?.rules);
  const ports = compileListeners(listeners, rules.matches, secrets, certificates, {
    listener: reportOn('listeners'),
    route: reportOn('routes'),
  });

  for (const cache of [certificates, expressions, mcpAuthorizations, views]) cache.seal();
  const runtime: RuntimeConfig = {
    version: (previous?.version ?? 0) + 1,
    ports,
    backends: backends.configs,
    authentications: policies.list('backend.mcp.authentication'),
    jwtAuthentications: policies.list('traffic.jwtAuthentication'),
    sealKeys: readSealKeys(secrets),
    keyUsers: policies.listKeyUsers(),
    policyConflicts: policies.conflicts,
  };
  compilationMemos.set(runtime, { certificates, expressions, mcpAuthorizations, backends, policies, views, rules });
  return { runtime, problems };
}

/** Unchanged lists are the same objects, so each is sorted only once. */
const sortedLists = new WeakMap<readonly object[], readonly object[]>();

function sortByKey<M extends { readonly key: string }>(messages: readonly M[]): readonly M[] {
  let sorted = sortedLists.get(messages) as readonly M[] | undefined;
  if (sorted === undefined) {
    sorted = messages.toSorted((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
    sortedLists.set(messages, sorted);
  }
  return sorted;
}

/** In the order of their keys, one message per key. */
function dropRepeated<M extends { readonly key: string }>(messages: readonly M[], report: ReportProblem): readonly M[] {
  const sorted = sortByKey(messages);
  return sorted.filter((message, index) => {
    const isRepeated = index > 0 && sorted[index - 1]!.key === message.key;
    if (isRepeated) report(message.key, 'there are two messages with this key; one of them is not used');
    return !isRepeated;
  });
}
