// One policy message -> what one kind is set to at one target. What cannot be compiled closes its target; what cannot even be placed closes its namespace.
import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema, type Policy, PolicyTargetKind, type Secret } from '../../../ir/gen/config_pb.ts';
import {
  findPolicyContent,
  isAuthenticationKind,
  type PolicyKind,
  policyKinds,
  type PolicyMessage,
  type PolicyTargetName,
  policyTargetNames,
} from '../../../ir/policy-kinds.ts';
import { formatProxyBackendKey } from '../../../ir/resource-keys.ts';
import { compileCors } from '../../policies/cors.ts';
import type { PolicyPlace } from '../policy-level.ts';
import { compileRules } from './compile-authorization.ts';
import { compileJwtAuthentication } from './compile-jwt-authentication.ts';
import { compileMcpAuthentication, PolicyError, type PolicySurroundings } from './compile-mcp-authentication.ts';
import { compileMcpAuthorization, describeMcpAuthorization } from './compile-mcp-authorization.ts';
import { describeError } from './compile-problem.ts';
import { areReadsStillTrue, ReadRecorder, type Reads } from './recorded-reads.ts';
import type { BackendConfig, PolicyConfigs, PolicyFailure } from '../runtime-config.ts';

/** What a policy can set for its target: something of its kind, or that it is closed. */
export interface TargetSettings extends PolicyConfigs {
  readonly failure: PolicyFailure;
}

/** A setting, and which policy set it where. */
export interface Placed<T> {
  /** Of the policy message. */
  readonly key: string;
  readonly place: PolicyPlace;
  readonly value: T;
}

interface CompiledSpec {
  readonly kind: keyof TargetSettings;
  readonly value: TargetSettings[keyof TargetSettings];
}

/** One policy message, compiled. */
export interface CompiledPolicy {
  /** Under what its target is found. */
  readonly target: string;
  readonly kind: keyof TargetSettings;
  readonly placed: Placed<TargetSettings[keyof TargetSettings]>;
  readonly problems: readonly string[];
  /** What it depends on beside the message itself. */
  readonly secretReads: Reads<Secret>;
  readonly backendReads: Reads<BackendConfig>;
  /** Under what its rules over messages are in the cache; undefined when it has none. */
  readonly mcpAuthorizationKey: string | undefined;
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
      kind: spec.kind,
      placed: { key: policy.key, place, value: spec.value },
      problems,
      secretReads: this.#secrets.take(),
      backendReads: this.#backends.take(),
      mcpAuthorizationKey:
        spec.kind === 'backend.mcp.authorization' && policy.spec.case === 'mcpAuthorization'
          ? describeMcpAuthorization(policy.spec.value, place)
          : undefined,
      isWorthAnotherTry: problems.length > 0 && readsTokens(policy),
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

function readsTokens(policy: Policy): boolean {
  const content = findPolicyContent(policy);
  return content !== undefined && isAuthenticationKind(content.kind);
}

/** A policy while it is compiled. */
interface PolicyAtHand {
  readonly policy: Policy;
  readonly place: PolicyPlace;
  readonly surroundings: PolicySurroundings;
}

/** Each compiles the message of its kind, or throws: then the target is closed. */
const compilers: {
  readonly [Kind in PolicyKind]: (message: PolicyMessage<Kind>, atHand: PolicyAtHand) => PolicyConfigs[Kind];
} = {
  'traffic.cors': compileCors,
  'traffic.jwtAuthentication': (message, { policy, surroundings }) =>
    compileJwtAuthentication(policy, message, surroundings),
  'backend.mcp.authentication': (message, { policy, surroundings }) =>
    compileMcpAuthentication(policy, message, surroundings),
  'traffic.authorization': (message, { place }) => compileRules(message, place, 'request'),
  'backend.mcp.authorization': (message, { place, surroundings }) =>
    compileMcpAuthorization(message, place, surroundings.mcpAuthorizations),
};

function compileSpec(policy: Policy, place: PolicyPlace, surroundings: PolicySurroundings): CompiledSpec {
  if (policy.spec.case === 'failure')
    return { kind: 'failure', value: { failure: policy.spec.value, source: policy.source } };
  const content = findPolicyContent(policy);
  if (content === undefined) throw new PolicyError('the policy has no content that this gateway knows');
  const { kind, message } = content;
  demandTarget(policy, kind);
  return { kind, value: compileKind(kind, message, { policy, place, surroundings }) };
}

function compileKind<Kind extends PolicyKind>(
  kind: Kind,
  message: PolicyMessage<Kind>,
  atHand: PolicyAtHand,
): PolicyConfigs[Kind] {
  return compilers[kind](message, atHand);
}

function demandTarget({ target }: Policy, kind: PolicyKind): void {
  const { title, targets }: { readonly title: string; readonly targets: readonly PolicyTargetName[] } =
    policyKinds[kind];
  const name = target === undefined ? undefined : policyTargetNames.get(target.kind);
  if (targets.some((each) => each === name)) return;
  const allowed = targets.map((each) => `${each === 'HTTPRoute' ? 'an' : 'a'} ${each}`);
  throw new PolicyError(`${title} can protect ${allowed.join(' or ')} only`);
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
  return { kind: 'failure', value: { failure: createFailure('PolicyNotCompiled', message), source: policy.source } };
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
