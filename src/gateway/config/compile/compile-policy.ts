// One policy message -> one field of one target. What cannot be compiled closes its target; what cannot even be placed closes its namespace.
import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema, type Policy, PolicyTargetKind, type Secret } from '../../../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../../../ir/resource-keys.ts';
import type { MessageRules } from '../message-rules.ts';
import type { Rule } from '../rule-set.ts';
import { compileCors } from '../../policies/cors.ts';
import type { JwtAuthenticationConfig } from '../jwt-authentication-config.ts';
import type { McpAuthenticationConfig } from '../protected-resource.ts';
import type { PolicyPlace } from '../policy-level.ts';
import { compileAuthentication, PolicyError, type PolicySurroundings } from './compile-authentication.ts';
import { compileRules } from './compile-authorization.ts';
import { compileJwtAuthentication } from './compile-jwt-authentication.ts';
import { compileMcpAuthorization, describeMessageRules } from './compile-mcp-authorization.ts';
import { describeError } from './compile-problem.ts';
import { areReadsStillTrue, ReadRecorder, type Reads } from './recorded-reads.ts';
import type { BackendConfig, CompiledCors, RoutePolicies } from '../runtime-config.ts';

/** A failure, and the policy it comes from. */
export type PolicyFailure = NonNullable<RoutePolicies['failure']>;

/** What a policy can set for its target. */
export interface PolicyFields {
  readonly failure: PolicyFailure;
  readonly cors: CompiledCors;
  readonly jwt: JwtAuthenticationConfig;
  readonly authorization: Rule;
  readonly authentication: McpAuthenticationConfig;
  readonly messageRules: MessageRules;
}

/** A field, and which policy set it where. */
export interface Placed<T> {
  /** Of the policy message. */
  readonly key: string;
  readonly place: PolicyPlace;
  readonly value: T;
}

type CompiledSpec = {
  [Field in keyof PolicyFields]: { readonly field: Field; readonly value: PolicyFields[Field] };
}[keyof PolicyFields];

/** One policy message, compiled. */
export interface CompiledPolicy {
  /** Under what its target is found. */
  readonly target: string;
  readonly field: keyof PolicyFields;
  readonly placed: Placed<PolicyFields[keyof PolicyFields]>;
  readonly problems: readonly string[];
  /** What it depends on beside the message itself. */
  readonly secretReads: Reads<Secret>;
  readonly backendReads: Reads<BackendConfig>;
  /** Under what its rules over messages are in the cache; undefined when it has none. */
  readonly messageRulesKey: string | undefined;
  /** It has asked for something that lives outside of the configuration, and did not get it. It may next time. */
  readonly isWorthAnotherTry: boolean;
}

/** Compiles one policy after the other; never throws. */
export class PolicyCompiler {
  readonly #surroundings: PolicySurroundings;
  readonly #secrets: ReadRecorder<Secret>;
  readonly #backends: ReadRecorder<BackendConfig>;

  constructor(surroundings: PolicySurroundings) {
    this.#secrets = new ReadRecorder(surroundings.secrets);
    this.#backends = new ReadRecorder(surroundings.backends);
    this.#surroundings = { ...surroundings, secrets: this.#secrets, backends: this.#backends };
  }

  compile(policy: Policy): CompiledPolicy {
    const problems: string[] = [];
    const place = describePlace(policy);
    const target = formatTarget(policy);
    let spec: CompiledSpec;
    try {
      spec = compileSpec(policy, place, this.#surroundings);
    } catch (error) {
      problems.push(describeError(error));
      spec = closeTarget(policy, describeError(error));
    }
    if (!target.isKnown) {
      problems.push(
        'the target of the policy is of a kind that this gateway does not know; its whole namespace is closed',
      );
      spec = closeTarget(policy, 'the target of the policy is not known');
    }
    return {
      target: target.key,
      field: spec.field,
      placed: { key: policy.key, place, value: spec.value },
      problems,
      secretReads: this.#secrets.take(),
      backendReads: this.#backends.take(),
      messageRulesKey:
        spec.field === 'messageRules' && policy.spec.case === 'mcpAuthorization'
          ? describeMessageRules(policy.spec.value, place)
          : undefined,
      isWorthAnotherTry: problems.length > 0 && isAcquired(policy),
    };
  }
}

/** Whether compiling the same message again would give the same. */
export function isStillTrue(compiled: CompiledPolicy, { secrets, backends }: PolicySurroundings): boolean {
  return (
    !compiled.isWorthAnotherTry &&
    areReadsStillTrue(compiled.secretReads, secrets) &&
    areReadsStillTrue(compiled.backendReads, backends)
  );
}

function isAcquired({ spec }: Policy): boolean {
  return spec.case === 'mcpAuthentication' || spec.case === 'jwtAuthentication';
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
export function describePlace({ source: policy, target }: Policy): PolicyPlace {
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

/** The namespace of namespace/name. */
export function readNamespace(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf('/'));
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
