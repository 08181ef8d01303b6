// Statuses as Kubernetes shapes them, and the closed list of conditions and reasons that they can have.
// The vocabulary is Gateway API 1.6 (apis/v1) and GEP-713; programmed-status.ts adds what only running gateways know.
import { rolloutReasons } from './rollout.ts';

/** Subject -> condition type -> the reasons it can carry. Every reason occurs in a golden; a test asserts it. */
export const conditionReasons = {
  gatewayClass: {
    Accepted: ['Accepted', 'InvalidParameters', 'Invalid'],
    SupportedVersion: ['SupportedVersion', 'UnsupportedVersion'],
  },
  gateway: {
    Accepted: ['Accepted', 'ListenersNotValid', 'Invalid', 'InvalidParameters', 'UnsupportedAddress', 'Pending'],
    Programmed: ['Programmed', 'Invalid', 'AddressNotAssigned', 'AddressNotUsable', 'Pending', 'GatewayBehind'],
    ResolvedRefs: ['ResolvedRefs', 'ListenersNotResolved'],
    InsecureFrontendValidationMode: ['ConfigurationChanged'],
    RolloutStuck: ['RollingOut', ...rolloutReasons],
  },
  listener: {
    Accepted: [
      'Accepted',
      'UnsupportedProtocol',
      'PortUnavailable',
      'HostnameConflict',
      'ProtocolConflict',
      'NoValidCACertificate',
    ],
    Conflicted: ['NoConflicts', 'HostnameConflict', 'ProtocolConflict'],
    ResolvedRefs: [
      'ResolvedRefs',
      'InvalidCertificateRef',
      'InvalidCACertificateRef',
      'InvalidCACertificateKind',
      'InvalidRouteKinds',
      'RefNotPermitted',
    ],
    Programmed: [
      'Programmed',
      'Invalid',
      'PortUnavailable',
      'HostnameConflict',
      'ProtocolConflict',
      'Pending',
      'GatewayBehind',
    ],
    OverlappingTLSConfig: ['OverlappingHostnames'],
  },
  routeParent: {
    Accepted: [
      'Accepted',
      'NotAllowedByListeners',
      'NoMatchingListenerHostname',
      'NoMatchingParent',
      'UnsupportedValue',
      'IncompatibleFilters',
      'Pending',
    ],
    ResolvedRefs: [
      'ResolvedRefs',
      'RefNotPermitted',
      'InvalidKind',
      'BackendNotFound',
      'UnsupportedProtocol',
      'InvalidCACertificateRef',
    ],
    PartiallyInvalid: ['UnsupportedValue', 'IncompatibleFilters', 'Shadowed'],
    /** False while rules are closed because nothing protects them; otherwise absent. */
    Protected: ['Unprotected'],
    /** True while rules serve requests without a token; otherwise absent. */
    Open: ['Unprotected', 'PublicAccess'],
  },
  proxyBackend: {
    Accepted: ['Accepted', 'Invalid'],
    ResolvedRefs: [
      'ResolvedRefs',
      'RefNotPermitted',
      'BackendNotFound',
      'UnsupportedProtocol',
      'InvalidCACertificateRef',
    ],
    /** Of a federation only. */
    TargetsHealthy: ['AllUp', 'TargetsDown', 'NotAskedYet'],
  },
  policyAncestor: {
    Accepted: ['Accepted', 'Invalid', 'Conflicted', 'TargetNotFound'],
    Attached: ['Attached', 'Pending'],
    Programmed: [
      'Programmed',
      'Invalid',
      'Conflicted',
      'Overridden',
      'PartiallyProgrammed',
      'TargetNotFound',
      'WaitingForGateway',
      'GatewayBehind',
      'Rejected',
      'KeysUnavailable',
      'XdsNotEncrypted',
    ],
  },
  /** The vocabulary is that of the Inference Extension 1.6 (api/v1). */
  inferencePoolParent: {
    Accepted: ['Accepted', 'HTTPRouteNotAccepted', 'NotSupportedByParent', 'EndpointPickerRefMissing'],
    ResolvedRefs: ['ResolvedRefs', 'InvalidExtensionRef'],
  },
} as const;

type ConditionReasons = typeof conditionReasons;
/** The kinds of thing that carry conditions. */
export type ConditionSubject = keyof ConditionReasons;
/** The condition types of a subject. */
type ConditionType<S extends ConditionSubject> = keyof ConditionReasons[S] & string;
/** The reasons of one condition type. */
export type ConditionReason<
  S extends ConditionSubject,
  T extends ConditionType<S>,
> = ConditionReasons[S][T] extends readonly (infer R)[] ? R & string : never;

/** A Kubernetes condition without lastTransitionTime, which the writer of the status adds. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

/** The status of a GatewayClass. */
export interface GatewayClassStatus {
  readonly conditions: readonly Condition[];
  /** In ascending order of their names. */
  readonly supportedFeatures?: readonly { readonly name: string }[];
}

/** The status of a Gateway and its listeners. */
export interface GatewayStatus {
  readonly addresses?: readonly { readonly type: string; readonly value: string }[];
  readonly conditions: readonly Condition[];
  readonly listeners: readonly ListenerStatus[];
}

/** The status of one listener. */
export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

/** A reference to a parent or an ancestor, as it stands in a status. */
export interface ParentReference {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly sectionName?: string;
  readonly port?: number;
}

/** The status of an HTTPRoute: one entry for each parentRef that is ours. */
export interface HttpRouteStatus {
  readonly parents: readonly {
    readonly parentRef: ParentReference;
    readonly controllerName: string;
    readonly conditions: readonly Condition[];
  }[];
}

/** The status of a ProxyBackend. */
export interface ProxyBackendStatus {
  readonly conditions: readonly Condition[];
}

/** The status of a ProxyPolicy (GEP-713): one entry for each Gateway it affects, at most 16. */
export interface ProxyPolicyStatus {
  readonly ancestors: readonly {
    readonly ancestorRef: ParentReference;
    readonly controllerName: string;
    readonly conditions: readonly Condition[];
  }[];
}

/** The status of an InferencePool: one entry for each Gateway of ours with an HTTPRoute that names the pool, at most 32; none when there is none. */
export interface InferencePoolStatus {
  readonly parents: readonly {
    readonly parentRef: ParentReference;
    readonly controllerName: string;
    readonly conditions: readonly Condition[];
  }[];
}

/** Every status that this controller writes, by namespace/name (GatewayClass: by name), in sorted order. */
export interface Statuses {
  readonly gatewayClasses: Readonly<Record<string, GatewayClassStatus>>;
  readonly gateways: Readonly<Record<string, GatewayStatus>>;
  readonly httpRoutes: Readonly<Record<string, HttpRouteStatus>>;
  readonly proxyBackends: Readonly<Record<string, ProxyBackendStatus>>;
  readonly proxyPolicies: Readonly<Record<string, ProxyPolicyStatus>>;
  /** Every InferencePool, including those that no Gateway leads to any more; none without the Inference Extension. */
  readonly inferencePools: Readonly<Record<string, InferencePoolStatus>>;
}

const longestMessage = 32_768; // the limit of Kubernetes

/** A condition with a reason from the list above; the compiler refuses any other. */
export function createCondition<S extends ConditionSubject, T extends ConditionType<S>>(
  _subject: S,
  type: T,
  status: Condition['status'],
  reason: ConditionReason<S, T>,
  message: string,
  observedGeneration: number,
): Condition {
  const text = message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
  return { type, status, reason, message: text, observedGeneration };
}
