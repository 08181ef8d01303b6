// One policy message -> one setting of one target. A policy that cannot be compiled closes its target; one with an unknown target closes its namespace.
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
import { listTestIssuers, testIssuerRefusal } from '../../../ir/test-issuer.ts';
import { compileCors } from '../../policies/cors.ts';
import type { PolicyPlace } from '../policy-level.ts';
import { compileRules } from './compile-authorization.ts';
import { compileJwtAuthentication } from './compile-jwt-authentication.ts';
import { compileMcpAuthentication, type PolicySurroundings } from './compile-mcp-authentication.ts';
import { PolicyError } from './policy-error.ts';
import { compileMcpAuthorization, describeMcpAuthorization } from './compile-mcp-authorization.ts';
import { describeError } from './compile-problem.ts';
import { areReadsStillValid, ReadRecorder, type Reads } from './recorded-reads.ts';
import type { BackendConfig, PolicyConfigs, PolicyFailure } from '../runtime-config.ts';

/** What a policy can set for its target: the configuration of its kind, or a failure that closes the target. */
export interface TargetSettings extends PolicyConfigs {
  readonly failure: PolicyFailure;
}

/** A setting with the policy that set it and its place. */
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
  /** The lookup key of its target. */
  readonly target: string;
  readonly kind: keyof TargetSettings;
  readonly placed: Placed<TargetSettings[keyof TargetSettings]>;
  readonly problems: readonly string[];
  /** The secrets that it depends on. */
  readonly secretReads: Reads<Secret>;
  readonly backendReads: Reads<BackendConfig>;
  /** The cache key of its rules over messages; undefined when it has none. */
  readonly mcpAuthorizationKey: string | undefined;
  /** It could not acquire a connection; the next compilation may succeed. */
  readonly shouldRetry: boolean;
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
        'this gateway does not support the target kind of the policy; everything in its namespace is closed',
      );
      spec = closeTarget(policy, 'this gateway does not support the target kind of the policy');
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
      shouldRetry: problems.length > 0 && readsTokens(policy),
    };
  }
}

/** Whether compiling the same message again would give the same. */
export function isStillValid(compiled: CompiledPolicy, { secrets, backends }: PolicySurroundings): boolean {
  return (
    !compiled.shouldRetry &&
    areReadsStillValid(compiled.secretReads, secrets) &&
    areReadsStillValid(compiled.backendReads, backends)
  );
}

function readsTokens(policy: Policy): boolean {
  const content = findPolicyContent(policy);
  return content !== undefined && isAuthenticationKind(content.kind);
}

/** A policy while it is compiled. */
interface PolicyInput {
  readonly policy: Policy;
  readonly place: PolicyPlace;
  readonly surroundings: PolicySurroundings;
}

/** One compiler per kind. Each throws when the policy cannot be enforced: then the target is closed. */
const compilers: {
  readonly [Kind in PolicyKind]: (message: PolicyMessage<Kind>, atHand: PolicyInput) => PolicyConfigs[Kind];
} = {
  'traffic.cors': compileCors,
  'traffic.publicAccess': (_message, { policy }) => ({ source: policy.source }),
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
  if (content === undefined) throw new PolicyError('this gateway does not support the kind of the policy');
  const { kind, message } = content;
  checkTarget(policy, kind);
  checkIssuers(policy, surroundings);
  return { kind, value: compileKind(kind, message, { policy, place, surroundings }) };
}

function compileKind<Kind extends PolicyKind>(
  kind: Kind,
  message: PolicyMessage<Kind>,
  atHand: PolicyInput,
): PolicyConfigs[Kind] {
  return compilers[kind](message, atHand);
}

function checkTarget({ target }: Policy, kind: PolicyKind): void {
  const { title, targets }: { readonly title: string; readonly targets: readonly PolicyTargetName[] } =
    policyKinds[kind];
  const name = target === undefined ? undefined : policyTargetNames.get(target.kind);
  if (targets.some((each) => each === name)) return;
  const allowed = targets.map((each) => `${each === 'HTTPRoute' ? 'an' : 'a'} ${each}`);
  throw new PolicyError(`${title} can protect ${allowed.join(' or ')} only`);
}

/** The controller refuses them already; this is for whatever else hands configuration to a deployed gateway. */
function checkIssuers(policy: Policy, { acceptsTestIssuers = false }: PolicySurroundings): void {
  const [issuer] = acceptsTestIssuers ? [] : listTestIssuers(policy);
  if (issuer !== undefined) throw new PolicyError(`${issuer}: ${testIssuerRefusal}`);
}

/** Describes the place of a policy. A target of an unknown kind closes a whole namespace and needs no better name. */
export function describePlace(message: Policy): PolicyPlace {
  const place = describeTarget(message);
  return message.isOverride ? { ...place, isOverride: true } : place;
}

function describeTarget({ source: policy, target }: Policy): PolicyPlace {
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

/** A failure found by the gateway itself: always 500. */
export function createFailure(reason: string, message: string): Failure {
  return create(FailureSchema, { status: 500, reason, message });
}

/** The namespace of namespace/name. */
export function readNamespace(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf('/'));
}

/** The lookup key of every rule that nothing protects. */
export const unprotectedTarget = 'Unprotected';

/** The lookup key of every rule that requests without a token can pass: those of one Gateway, or with an empty name those of all. */
export function formatAnonymousTarget(gateway: string): string {
  return `Anonymous/${gateway}`;
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
    case PolicyTargetKind.UNPROTECTED:
      if (!policy.needsAuthentication) return { key: unprotectedTarget, isKnown: true };
      return {
        key: formatAnonymousTarget(target.name === '' ? '' : `${target.namespace}/${target.name}`),
        isKnown: true,
      };
    default:
      return {
        key: `Namespace/${target === undefined || target.namespace === '' ? readNamespace(policy.source) : target.namespace}`,
        isKnown: false,
      };
  }
}
