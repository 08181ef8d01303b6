// Every kind of policy, one row each. A kind is a field of a ProxyPolicy, and the path of the field is its name everywhere: in messages, in the compiled
// configuration, in decisions, metrics and logs, and in what commands and admin pages show. CONTRIBUTING.md says how to add one.
import { type Policy, PolicyTargetKind } from './gen/config_pb.ts';

/** The kinds of objects that a policy can target. */
export type PolicyTargetName = 'Gateway' | 'HTTPRoute' | 'ProxyBackend';

/** The properties of a kind. */
interface PolicyKindRow {
  /** The case of `spec` in a Policy message. */
  readonly messageCase: Exclude<Policy['spec']['case'], 'failure' | undefined>;
  /** What policies of this kind can target. */
  readonly targets: readonly PolicyTargetName[];
  /** Whether the most specific of several levels (Gateway, listener, HTTPRoute, rule) decides alone, or all of them together. */
  readonly levels: 'most-specific' | 'all';
  /** Whether it refuses requests: without it more of them would pass. */
  readonly isGuard: boolean;
  /** Whether it reads tokens: it has a mode, and keys that live longer than a configuration. */
  readonly isAuthentication: boolean;
  /** The kind, as a heading. */
  readonly title: string;
  /** The kind in one or two words, for a summary; the mode of an authentication completes it: "token required". */
  readonly word: string;
  /** What it protects by, beside a route: "login default/sample". */
  readonly badge: string;
  /** Begins a sentence that the policy ends: "protected by". */
  readonly opening: string;
}

const ofRoutes = ['Gateway', 'HTTPRoute'] as const;
/** A Gateway's owner cannot say it for all routes at once: each is opened by itself. */
const ofHttpRoutes = ['HTTPRoute'] as const;
const ofBackends = ['ProxyBackend'] as const;

/** The table, in the order in which a request meets the kinds. */
export const policyKinds = {
  'traffic.cors': {
    messageCase: 'cors',
    targets: ofRoutes,
    levels: 'most-specific',
    isGuard: false,
    isAuthentication: false,
    title: 'CORS',
    word: 'CORS',
    badge: 'CORS',
    opening: 'cross-origin requests by',
  },
  'traffic.publicAccess': {
    messageCase: 'publicAccess',
    targets: ofHttpRoutes,
    levels: 'most-specific',
    isGuard: false,
    isAuthentication: false,
    title: 'Public access',
    word: 'public on purpose',
    badge: 'public',
    opening: 'public on purpose by',
  },
  'traffic.jwtAuthentication': {
    messageCase: 'jwtAuthentication',
    targets: ofRoutes,
    levels: 'most-specific',
    isGuard: true,
    isAuthentication: true,
    title: 'JWT authentication',
    word: 'token',
    badge: 'JWT',
    opening: 'protected by',
  },
  'backend.mcp.authentication': {
    messageCase: 'mcpAuthentication',
    targets: ofBackends,
    levels: 'most-specific',
    isGuard: true,
    isAuthentication: true,
    title: 'MCP authentication',
    word: 'login',
    badge: 'login',
    opening: 'protected by',
  },
  'traffic.authorization': {
    messageCase: 'authorization',
    targets: ofRoutes,
    levels: 'all',
    isGuard: true,
    isAuthentication: false,
    title: 'Rules over requests',
    word: 'rules',
    badge: 'rules',
    opening: 'rules of',
  },
  'backend.mcp.authorization': {
    messageCase: 'mcpAuthorization',
    targets: ofBackends,
    levels: 'most-specific',
    isGuard: true,
    isAuthentication: false,
    title: 'Rules over MCP messages',
    word: 'message rules',
    badge: 'rules',
    opening: 'message rules of',
  },
} as const satisfies Readonly<Record<string, PolicyKindRow>>;

type Table = typeof policyKinds;

/** A kind of policy by its name: the path of the field in a ProxyPolicy. */
export type PolicyKind = keyof Table;

/** The kinds that have a property of the table. */
type KindWith<Property> = { [Kind in PolicyKind]: Table[Kind] extends Property ? Kind : never }[PolicyKind];

/** Kinds that target what leads to backends. */
export type RoutePolicyKind = KindWith<{ readonly targets: typeof ofRoutes | typeof ofHttpRoutes }>;
/** Kinds that target a backend. */
export type BackendPolicyKind = KindWith<{ readonly targets: typeof ofBackends }>;
/** Kinds for routes of which one level decides alone. */
export type ExclusivePolicyKind = RoutePolicyKind & KindWith<{ readonly levels: 'most-specific' }>;
/** Kinds that read tokens. */
export type AuthenticationKind = KindWith<{ readonly isAuthentication: true }>;

/** The message of a kind. */
export type PolicyMessage<Kind extends PolicyKind> = Extract<
  Policy['spec'],
  { case: Table[Kind]['messageCase'] }
>['value'];

/** A message with its kind. */
type PolicyContent = {
  [Kind in PolicyKind]: { readonly kind: Kind; readonly message: PolicyMessage<Kind> };
}[PolicyKind];

/** Every kind, in the order of the table. */
export const allPolicyKinds = Object.keys(policyKinds) as readonly PolicyKind[];
/** Those for Gateways and HTTPRoutes. */
export const routePolicyKinds = allPolicyKinds.filter(isRouteKind);
/** Those for backends. */
export const backendPolicyKinds = allPolicyKinds.filter(isBackendKind);
/** Those for routes of which the most specific level decides alone. */
export const exclusivePolicyKinds = routePolicyKinds.filter(isExclusiveKind);
/** Those that read tokens. */
export const authenticationKinds = allPolicyKinds.filter(isAuthenticationKind);

/** Whether a text is the name of a kind. */
export function isPolicyKind(text: string): text is PolicyKind {
  return Object.hasOwn(policyKinds, text);
}

function isRouteKind(kind: PolicyKind): kind is RoutePolicyKind {
  return !isBackendKind(kind);
}

/** Whether policies of the kind are for backends. */
export function isBackendKind(kind: PolicyKind): kind is BackendPolicyKind {
  return policyKinds[kind].targets === ofBackends;
}

/** Whether policies of the kind read tokens. */
export function isAuthenticationKind(kind: PolicyKind): kind is AuthenticationKind {
  return policyKinds[kind].isAuthentication;
}

function isExclusiveKind(kind: RoutePolicyKind): kind is ExclusivePolicyKind {
  return policyKinds[kind].levels === 'most-specific';
}

const kindsByCase = new Map<Policy['spec']['case'], PolicyKind>(
  allPolicyKinds.map((kind) => [policyKinds[kind].messageCase, kind]),
);

/** The kind of a message; undefined when it closes its target, or has no content that this version knows. */
export function findPolicyKind({ spec }: Pick<Policy, 'spec'>): PolicyKind | undefined {
  return kindsByCase.get(spec.case);
}

/** The content of a message with its kind; undefined as for findPolicyKind. */
export function findPolicyContent(policy: Pick<Policy, 'spec'>): PolicyContent | undefined {
  const kind = findPolicyKind(policy);
  return kind === undefined ? undefined : ({ kind, message: policy.spec.value } as PolicyContent);
}

/** The names of the kinds of targets; undefined for a kind that this version does not know. */
export const policyTargetNames: ReadonlyMap<PolicyTargetKind, PolicyTargetName | 'Namespace' | 'Unprotected'> = new Map(
  [
    [PolicyTargetKind.GATEWAY, 'Gateway'],
    [PolicyTargetKind.HTTP_ROUTE, 'HTTPRoute'],
    [PolicyTargetKind.PROXY_BACKEND, 'ProxyBackend'],
    [PolicyTargetKind.NAMESPACE, 'Namespace'],
    [PolicyTargetKind.UNPROTECTED, 'Unprotected'],
  ],
);
