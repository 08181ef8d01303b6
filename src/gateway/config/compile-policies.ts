// Policy messages -> what applies to one rule on one listener, or to one backend. Levels: Gateway < listener < HTTPRoute < rule;
// the more specific policy wins per field. A policy that cannot be enforced wins at every level: its target fails closed.
import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema, type Policy, PolicyTargetKind } from '../../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../../ir/resource-keys.ts';
import { compileCors } from '../policies/cors.ts';
import type { McpAuthenticationConfig } from '../policies/mcp-authentication/protected-resource.ts';
import { compileAuthentication, PolicyError, type PolicySurroundings } from './compile-authentication.ts';
import { describeError, type ReportProblem } from './compile-problem.ts';
import type { CompiledCors, RoutePolicies } from './runtime-config.ts';

/** A failure, and the policy it comes from. */
export type PolicyFailure = NonNullable<RoutePolicies['failure']>;

type CompiledSpec =
  | { readonly field: 'failure'; readonly failure: PolicyFailure }
  | { readonly field: 'cors'; readonly cors: CompiledCors }
  | { readonly field: 'authentication'; readonly authentication: McpAuthenticationConfig };

/** Everything that is set for one target. Of two policies for the same field the first by key stays; translation refuses the other. */
interface TargetPolicies {
  failure: PolicyFailure | undefined;
  cors: CompiledCors | undefined;
  authentication: McpAuthenticationConfig | undefined;
}

/** The rule and the listener that serves it there, for a lookup. */
export interface RuleOnListener {
  /** namespace/name */
  readonly gateway: string;
  readonly listenerName: string;
  /** namespace/name */
  readonly httpRoute: string;
  readonly ruleName: string;
}

/** All policies of a configuration by their target. */
export class PolicyIndex {
  readonly #targets = new Map<string, TargetPolicies>();

  /** Takes policies in the order of their keys. One that cannot be compiled is reported and closes its target. */
  constructor(policies: readonly Policy[], surroundings: PolicySurroundings, report: ReportProblem) {
    for (const policy of policies) {
      let spec: CompiledSpec;
      try {
        spec = compileSpec(policy, surroundings);
      } catch (error) {
        report(policy.key, describeError(error));
        spec = closeTarget(policy, describeError(error));
      }
      this.#add(policy, spec, report);
    }
  }

  #add(policy: Policy, spec: CompiledSpec, report: ReportProblem): void {
    const target = formatTarget(policy);
    if (target.isKnown) {
      this.#set(target.key, spec);
    } else {
      report(
        policy.key,
        'the target of the policy is of a kind that this gateway does not know; its whole namespace is closed',
      );
      this.#set(target.key, closeTarget(policy, 'the target of the policy is not known'));
    }
  }

  #set(target: string, spec: CompiledSpec): void {
    let policies = this.#targets.get(target);
    if (policies === undefined) {
      policies = { failure: undefined, cors: undefined, authentication: undefined };
      this.#targets.set(target, policies);
    }
    if (spec.field === 'failure') policies.failure ??= spec.failure;
    else if (spec.field === 'cors') policies.cors ??= spec.cors;
    else policies.authentication ??= spec.authentication;
  }

  /** What applies to a rule where one listener serves it. */
  findForRule(rule: RuleOnListener): RoutePolicies {
    const levels = [
      rule.ruleName === '' ? undefined : this.#targets.get(`HTTPRoute/${rule.httpRoute}#${rule.ruleName}`),
      this.#targets.get(`HTTPRoute/${rule.httpRoute}#`),
      this.#targets.get(`Gateway/${rule.gateway}#${rule.listenerName}`),
      this.#targets.get(`Gateway/${rule.gateway}#`),
      this.#targets.get(`Namespace/${readNamespace(rule.httpRoute)}`),
      this.#targets.get(`Namespace/${readNamespace(rule.gateway)}`),
    ];
    return {
      failure: levels.find((level) => level?.failure !== undefined)?.failure,
      cors: levels.find((level) => level?.cors !== undefined)?.cors,
    };
  }

  /** Why a backend must not be used, by its key. Only a ProxyBackend can be the target of a policy. */
  findForBackend(backend: string): PolicyFailure | undefined {
    const [kind, namespace = ''] = backend.split('/');
    if (kind !== 'ProxyBackend') return undefined;
    return this.#targets.get(backend)?.failure ?? this.#targets.get(`Namespace/${namespace}`)?.failure;
  }

  /** Who protects a backend, by its key. */
  findAuthentication(backend: string): McpAuthenticationConfig | undefined {
    return this.#targets.get(backend)?.authentication;
  }

  /** All that protect something, each once. */
  listAuthentications(): readonly McpAuthenticationConfig[] {
    return [...new Set([...this.#targets.values()].flatMap(({ authentication }) => authentication ?? []))];
  }
}

function readNamespace(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf('/'));
}

function compileSpec(policy: Policy, surroundings: PolicySurroundings): CompiledSpec {
  switch (policy.spec.case) {
    case 'failure':
      return { field: 'failure', failure: { failure: policy.spec.value, source: policy.source } };
    case 'cors': {
      const kind = policy.target?.kind;
      if (kind === PolicyTargetKind.GATEWAY || kind === PolicyTargetKind.HTTP_ROUTE) {
        return { field: 'cors', cors: compileCors(policy.spec.value) };
      }
      throw new PolicyError('CORS can protect a Gateway or an HTTPRoute only');
    }
    case 'mcpAuthentication':
      return {
        field: 'authentication',
        authentication: compileAuthentication(policy, policy.spec.value, surroundings),
      };
    default:
      throw new PolicyError('the policy has no content that this gateway knows');
  }
}

function closeTarget(policy: Policy, message: string): CompiledSpec {
  return { field: 'failure', failure: { failure: createFailure('PolicyNotCompiled', message), source: policy.source } };
}

/** A failure of the gateway's own making: always 500. */
export function createFailure(reason: string, message: string): Failure {
  return create(FailureSchema, { status: 500, reason, message });
}

function formatTarget(policy: Policy): { readonly key: string; readonly isKnown: boolean } {
  const { target } = policy;
  switch (target?.kind) {
    case PolicyTargetKind.GATEWAY:
      return { key: `Gateway/${target.namespace}/${target.name}#${target.sectionName}`, isKnown: true };
    case PolicyTargetKind.HTTP_ROUTE:
      return { key: `HTTPRoute/${target.namespace}/${target.name}#${target.sectionName}`, isKnown: true };
    case PolicyTargetKind.PROXY_BACKEND:
      return { key: formatProxyBackendKey(target.namespace, target.name), isKnown: true };
    case PolicyTargetKind.NAMESPACE:
      return { key: `Namespace/${target.namespace}`, isKnown: true };
    default:
      return {
        key: `Namespace/${target === undefined || target.namespace === '' ? readNamespace(policy.source) : target.namespace}`,
        isKnown: false,
      };
  }
}
