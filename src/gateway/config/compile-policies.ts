// Policy messages -> what applies to one rule on one listener, or to one backend. Levels: Gateway < listener < HTTPRoute < rule;
// the more specific policy wins per field. A policy that cannot be enforced wins at every level: its target fails closed.
import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema, type Policy, PolicyTargetKind } from '../../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../../ir/resource-keys.ts';
import type { MessageRules } from '../mcp/messages/message-rules.ts';
import type { Rule } from '../policies/authorization/rule-set.ts';
import { compileCors } from '../policies/cors.ts';
import type { JwtAuthenticationConfig } from '../policies/jwt-authentication/jwt-authentication-config.ts';
import type { McpAuthenticationConfig } from '../policies/mcp-authentication/protected-resource.ts';
import type { PolicyConflict, PolicyFieldName, PolicyPlace, PolicyProvenance } from '../policies/policy-level.ts';
import { compileAuthentication, PolicyError, type PolicySurroundings } from './compile-authentication.ts';
import { collectRules, compileRules } from './compile-authorization.ts';
import { compileJwtAuthentication } from './compile-jwt-authentication.ts';
import { compileMcpAuthorization } from './compile-mcp-authorization.ts';
import { describeError, type ReportProblem } from './compile-problem.ts';
import type { CompiledCors, RoutePolicies } from './runtime-config.ts';

/** A failure, and the policy it comes from. */
export type PolicyFailure = NonNullable<RoutePolicies['failure']>;

type CompiledSpec =
  | { readonly field: 'failure'; readonly value: PolicyFailure }
  | { readonly field: 'cors'; readonly value: CompiledCors }
  | { readonly field: 'jwt'; readonly value: JwtAuthenticationConfig }
  | { readonly field: 'authorization'; readonly value: Rule }
  | { readonly field: 'authentication'; readonly value: McpAuthenticationConfig }
  | { readonly field: 'messageRules'; readonly value: MessageRules };

/** Everything that is set for one target. Of two policies for the same field the first by key stays; translation refuses the other. */
interface TargetPolicies {
  failure?: Placed<PolicyFailure>;
  cors?: Placed<CompiledCors>;
  jwt?: Placed<JwtAuthenticationConfig>;
  authorization?: Placed<Rule>;
  authentication?: Placed<McpAuthenticationConfig>;
  messageRules?: Placed<MessageRules>;
}

interface Placed<T> {
  readonly place: PolicyPlace;
  readonly value: T;
}

/** Fields that the most specific level decides alone. */
const exclusiveFields = [
  ['cors', 'traffic.cors'],
  ['jwt', 'traffic.jwtAuthentication'],
] as const;

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
  /** Policies that have no say somewhere. */
  readonly conflicts: readonly PolicyConflict[];

  /** Takes policies in the order of their keys. One that cannot be compiled is reported and closes its target. */
  constructor(policies: readonly Policy[], surroundings: PolicySurroundings, report: ReportProblem) {
    for (const policy of policies) {
      let spec: CompiledSpec;
      try {
        spec = compileSpec(policy, describePlace(policy), surroundings);
      } catch (error) {
        report(policy.key, describeError(error));
        spec = closeTarget(policy, describeError(error));
      }
      this.#add(policy, spec, report);
    }
    this.conflicts = policies.flatMap(listConflicts);
  }

  #add(policy: Policy, spec: CompiledSpec, report: ReportProblem): void {
    const target = formatTarget(policy);
    const place = describePlace(policy);
    if (target.isKnown) {
      this.#set(target.key, place, spec);
    } else {
      report(
        policy.key,
        'the target of the policy is of a kind that this gateway does not know; its whole namespace is closed',
      );
      this.#set(target.key, place, closeTarget(policy, 'the target of the policy is not known'));
    }
  }

  #set(target: string, place: PolicyPlace, spec: CompiledSpec): void {
    let policies = this.#targets.get(target);
    if (policies === undefined) {
      policies = {};
      this.#targets.set(target, policies);
    }
    // The first stays.
    Object.assign(policies, { [spec.field]: { place, value: spec.value }, ...policies });
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
    ].filter((level) => level !== undefined);
    if (levels.length === 0) return noPolicies;
    const jwt = levels.flatMap((level) => level.jwt?.value ?? []);
    return {
      failure: levels.find(({ failure }) => failure !== undefined)?.failure?.value,
      cors: levels.find(({ cors }) => cors !== undefined)?.cors?.value,
      jwt: jwt[0],
      identityHeaders: listIdentityHeaders(jwt),
      // Rules of all levels have a say; the most specific ones are asked first.
      authorization: collectRules(levels.flatMap(({ authorization }) => authorization?.value ?? [])),
      provenance: listProvenance(levels),
    };
  }

  /** Why a backend must not be used, by its key. Only a ProxyBackend can be the target of a policy. */
  findForBackend(backend: string): PolicyFailure | undefined {
    const [kind, namespace = ''] = backend.split('/');
    if (kind !== 'ProxyBackend') return undefined;
    return (this.#targets.get(backend)?.failure ?? this.#targets.get(`Namespace/${namespace}`)?.failure)?.value;
  }

  /** Who protects a backend, by its key. */
  findAuthentication(backend: string): McpAuthenticationConfig | undefined {
    return this.#targets.get(backend)?.authentication?.value;
  }

  /** The rules over messages to a backend, by its key. */
  findMessageRules(backend: string): MessageRules | undefined {
    return this.#targets.get(backend)?.messageRules?.value;
  }

  /** All that protect something, each once. */
  listAuthentications(): readonly McpAuthenticationConfig[] {
    return [...new Set([...this.#targets.values()].flatMap(({ authentication }) => authentication?.value ?? []))];
  }

  /** All that protect something, each once. */
  listJwtAuthentications(): readonly JwtAuthenticationConfig[] {
    return [...new Set([...this.#targets.values()].flatMap(({ jwt }) => jwt?.value ?? []))];
  }
}

const fieldNames: Readonly<Partial<Record<NonNullable<Policy['spec']['case']>, PolicyFieldName>>> = {
  cors: 'traffic.cors',
  jwtAuthentication: 'traffic.jwtAuthentication',
  authorization: 'traffic.authorization',
  mcpAuthentication: 'backend.mcp.authentication',
  mcpAuthorization: 'backend.mcp.authorization',
};

/** Of a policy that closes its target nobody needs to know whom it outranks. */
function listConflicts(policy: Policy): readonly PolicyConflict[] {
  const field = policy.spec.case === undefined ? undefined : fieldNames[policy.spec.case];
  if (field === undefined || policy.rivals.length === 0) return [];
  const owner = describePlace(policy);
  return policy.rivals.map(({ source, isYounger }) => ({
    policy: source,
    field,
    owner,
    because: isYounger ? 'is older' : 'comes first by name',
  }));
}

/** Of a rule that no policy is for. */
export const noPolicies: RoutePolicies = {
  failure: undefined,
  cors: undefined,
  jwt: undefined,
  identityHeaders: undefined,
  authorization: undefined,
  provenance: [],
};

/** The backend may trust a header because a policy above names it, also where that policy has no say. */
function listIdentityHeaders(levels: readonly JwtAuthenticationConfig[]): ReadonlySet<string> | undefined {
  const [winner, ...overridden] = levels;
  if (winner === undefined) return undefined;
  const names = overridden.flatMap(({ claimHeaders }) => [...claimHeaders]);
  return names.every((name) => winner.claimHeaders.has(name)) ? undefined : new Set([...winner.claimHeaders, ...names]);
}

/** From the most specific level to the least: who has each field, and who would have it if it were not for that one. */
function listProvenance(levels: readonly TargetPolicies[]): readonly PolicyProvenance[] {
  const found: PolicyProvenance[] = [];
  for (const [name, field] of exclusiveFields) {
    let winner: PolicyPlace | undefined;
    for (const level of levels) {
      const place = level[name]?.place;
      if (place === undefined) continue;
      found.push({ ...place, field, overriddenBy: winner });
      winner ??= place;
    }
  }
  for (const { authorization } of levels)
    if (authorization !== undefined)
      found.push({ ...authorization.place, field: 'traffic.authorization', overriddenBy: undefined });
  return found;
}

function readNamespace(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf('/'));
}

function compileSpec(policy: Policy, place: PolicyPlace, surroundings: PolicySurroundings): CompiledSpec {
  switch (policy.spec.case) {
    case 'failure':
      return { field: 'failure', value: { failure: policy.spec.value, source: policy.source } };
    case 'cors':
      demandTrafficTarget(policy, 'CORS');
      return { field: 'cors', value: compileCors(policy.spec.value) };
    case 'jwtAuthentication':
      demandTrafficTarget(policy, 'JWT authentication');
      return { field: 'jwt', value: compileJwtAuthentication(policy, policy.spec.value, surroundings) };
    case 'authorization':
      demandTrafficTarget(policy, 'authorization');
      return { field: 'authorization', value: compileRules(policy.spec.value, place, 'request') };
    case 'mcpAuthentication':
      return { field: 'authentication', value: compileAuthentication(policy, policy.spec.value, surroundings) };
    case 'mcpAuthorization':
      return {
        field: 'messageRules',
        value: compileMcpAuthorization(policy, policy.spec.value, place, surroundings.messageRules),
      };
    default:
      throw new PolicyError('the policy has no content that this gateway knows');
  }
}

function demandTrafficTarget(policy: Policy, what: string): void {
  const kind = policy.target?.kind;
  if (kind === PolicyTargetKind.GATEWAY || kind === PolicyTargetKind.HTTP_ROUTE) return;
  throw new PolicyError(`${what} can protect a Gateway or an HTTPRoute only`);
}

/** The place of a policy in words. A target of an unknown kind closes a whole namespace and needs no better name. */
function describePlace({ source: policy, target }: Policy): PolicyPlace {
  const { kind, namespace = '', name = '', sectionName = '' } = target ?? {};
  const hasSection = sectionName !== '';
  const section = (what: string): string => (hasSection ? `, ${what} ${sectionName}` : '');
  switch (kind) {
    case PolicyTargetKind.GATEWAY: {
      const level = hasSection ? 'listener' : 'Gateway';
      return { policy, level, target: `Gateway ${namespace}/${name}${section('listener')}` };
    }
    case PolicyTargetKind.HTTP_ROUTE: {
      const level = hasSection ? 'rule' : 'HTTPRoute';
      return { policy, level, target: `HTTPRoute ${namespace}/${name}${section('rule')}` };
    }
    default:
      return { policy, level: 'ProxyBackend', target: `ProxyBackend ${namespace}/${name}` };
  }
}

function closeTarget(policy: Policy, message: string): CompiledSpec {
  return { field: 'failure', value: { failure: createFailure('PolicyNotCompiled', message), source: policy.source } };
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
