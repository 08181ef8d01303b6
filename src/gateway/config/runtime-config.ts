// The configuration in the form the request path uses: compiled once per change, immutable, swapped as a whole.
import type { EndpointForm } from '../../ir/endpoint-paths.ts';
import type { Cors, Failure, HeaderModifier, PathModifier, RequestRedirect } from '../../ir/gen/config_pb.ts';
import type { AuthenticationKind, BackendPolicyKind, ExclusivePolicyKind } from '../../ir/policy-kinds.ts';
import type { FederationConfig } from './federation-config.ts';
import type { McpAuthorizationConfig } from './mcp-authorization-config.ts';
import type { Rule, RuleSet, TokenTrust } from './rule-set.ts';
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';
import type { McpAuthenticationConfig, ProtectedResource } from './protected-resource.ts';
import type { PolicyConflict, PolicyProvenance } from './policy-level.ts';
import type { HostTable } from '../route/table/hostname.ts';
import type { RouteTable } from '../route/table/route-table.ts';
import type { ServerConfig } from './server-config.ts';
import type { SecureContext } from 'node:tls';

export interface RuntimeConfig {
  /** Counts up with every swap. */
  readonly version: number;
  /** By bind key: `address|port`, address empty for every interface. */
  readonly ports: ReadonlyMap<string, PortConfig>;
  readonly backends: ReadonlyMap<string, BackendConfig>;
  /** Every MCP authentication that protects something, each once. */
  readonly authentications: readonly McpAuthenticationConfig[];
  /** Every JWT authentication that protects something, each once. */
  readonly jwtAuthentications: readonly JwtAuthenticationConfig[];
  /** The seal keys, the active key first; the same in all processes of the Gateway. */
  readonly sealKeys: readonly Uint8Array[];
  /** The policies that need keys of an identity provider. */
  readonly keyUsers: readonly KeyUser[];
  /** Policies that lose against another one at the same place: shown to the operator. */
  readonly policyConflicts: readonly PolicyConflict[];
}

/** A policy that refuses all requests while the keys of its identity provider are missing. */
export type KeyUser = {
  [Kind in AuthenticationKind]: {
    /** Key of the policy message. */
    readonly policy: string;
    readonly kind: Kind;
    readonly config: PolicyConfigs[Kind];
  };
}[AuthenticationKind];

export interface PortConfig {
  readonly bindKey: string;
  /** Empty: every interface. */
  readonly address: string;
  readonly port: number;
  readonly protocol: 'HTTP' | 'HTTPS';
  /** Only the listener with the most specific hostname is considered: listener isolation. */
  readonly listeners: HostTable<ListenerConfig>;
  /** HTTPS only: the certificate for a server name; undefined refuses the handshake. */
  readonly selectCertificate: ((serverName: string | undefined) => ServerHandshake | undefined) | undefined;
}

/** What a handshake needs. */
export interface ServerHandshake {
  readonly context: SecureContext;
  /** Whether clients are asked for a certificate. */
  readonly asksClients: boolean;
  /** Set: clients need a certificate that these authorities validate. */
  readonly clientAuthorities: string | undefined;
}

export interface ListenerConfig {
  readonly key: string;
  readonly gateway: string;
  readonly name: string;
  readonly hostname: string;
  /** The configured port, used by redirects without a port of their own. */
  readonly port: number;
  /** Set: serves only connections whose client certificate these authorities validate. */
  readonly clientAuthorities: string | undefined;
  /** By hostname of the routes, tried from the most specific to the least. */
  readonly routes: HostTable<RouteTable<RouteConfig>>;
  /** By the same hostnames, where anything on them is protected. Only the most specific entry is used: it includes the less specific ones. */
  readonly protection: HostTable<HostProtection>;
}

/** The resources that MCP authentication protects on one hostname, and the gateway's own endpoints for them. */
export interface HostProtection {
  /** By ProtectedResource.path. */
  readonly resources: ReadonlyMap<string, ProtectedResource>;
  /** By full path. */
  readonly endpoints: ReadonlyMap<string, OwnEndpoint>;
}

/** One of the gateway's own OAuth endpoints. */
export interface OwnEndpoint {
  readonly form: EndpointForm;
  readonly resource: ProtectedResource;
  /** The path does not contain the resource's path: the identifier in the answer is the base alone. */
  readonly isRootForm: boolean;
}

/** A rule as one listener serves it, with the policies that apply to it there. */
export interface RouteConfig {
  readonly key: string;
  readonly httpRoute: string;
  readonly ruleName: string;
  readonly ruleIndex: number;
  readonly failure: Failure | undefined;
  /** Set: nothing protects the rule, and a policy that was to protect something is attached to nothing. The rule answers this. */
  readonly unprotected: PolicyFailure | undefined;
  /** Set: requests without a token would be served, and such rules are to be closed. The rule answers this. */
  readonly closedByDefault: PolicyFailure | undefined;
  readonly policies: RoutePolicies;
  readonly filters: RouteFilters;
  readonly backends: WeightedBackends;
  readonly requestTimeoutMs: number;
  readonly backendRequestTimeoutMs: number;
}

/** Which match of the rule was hit: a prefix replacement needs the prefix. */
export interface MatchedRoute {
  readonly route: RouteConfig;
  /** The matched PathPrefix value without a trailing slash ('' for '/'), the whole path for Exact, undefined for a regular expression. */
  readonly matchedPrefix: string | undefined;
}

/** What a policy of each kind is compiled to. */
export interface PolicyConfigs {
  readonly 'traffic.cors': CompiledCors;
  readonly 'traffic.publicAccess': PublicAccess;
  readonly 'traffic.jwtAuthentication': JwtAuthenticationConfig;
  readonly 'backend.mcp.authentication': McpAuthenticationConfig;
  readonly 'traffic.authorization': Rule;
  readonly 'backend.mcp.authorization': McpAuthorizationConfig;
}

/** A policy that cannot be enforced: its target answers with this failure (fail closed). */
export interface PolicyFailure {
  readonly failure: Failure;
  /** namespace/name of the ProxyPolicy; or who wants rules without protection to be closed. */
  readonly source: string;
}

/** For the kinds that one level decides alone: the policy of the most specific level. */
export type ExclusivePolicies = { readonly [Kind in ExclusivePolicyKind]: PolicyConfigs[Kind] | undefined };

/** What applies to a rule where one listener serves it. */
export interface RoutePolicies extends ExclusivePolicies {
  readonly failure: PolicyFailure | undefined;
  /**
   * The headers that JWT authentication of any level fills from claims, in lower case with '-'. An overridden policy writes no header, but clients must
   * not send its headers either. Undefined: the most specific policy has all of them.
   */
  readonly identityHeaders: ReadonlySet<string> | undefined;
  /** Rules of all levels together. */
  readonly 'traffic.authorization': RuleSet | undefined;
  /** The rules that do not see every token. Undefined: all rules see all tokens. */
  readonly trust: TokenTrust | undefined;
  /** The policies of all levels of the rule, the most specific first, and whether each takes effect. */
  readonly provenance: readonly PolicyProvenance[];
}

/** The policies of a backend, whichever rule leads there. */
export type BackendPolicies = { readonly failure: PolicyFailure | undefined } & {
  readonly [Kind in BackendPolicyKind]: PolicyConfigs[Kind] | undefined;
};

export interface RouteFilters {
  readonly requestHeaders: readonly HeaderModifier[];
  readonly responseHeaders: readonly HeaderModifier[];
  readonly redirect: RequestRedirect | undefined;
  readonly rewrite: { readonly hostname: string; readonly path: PathModifier | undefined } | undefined;
  readonly mirrors: readonly MirrorConfig[];
}

export interface MirrorConfig {
  readonly backend: string;
  readonly numerator: number;
  readonly denominator: number;
  /** The backend's policies. Copies are not judged, so the backend gets only copies of requests that these same policies allowed. */
  readonly policies: BackendPolicies;
}

/** A rule that is open on purpose. */
export interface PublicAccess {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
}

/** CORS settings with everything precomputed that does not depend on the request. */
export interface CompiledCors {
  readonly message: Cors;
  readonly allowsOrigin: (origin: string) => boolean;
  /** Any origin without credentials: the answer is a literal `*` and does not vary. */
  readonly answersAnyOrigin: boolean;
  /** '*': whatever the preflight asks for. Empty: no header. */
  readonly allowMethods: string;
  /** '*': whatever the preflight asks for. Empty: no header. */
  readonly allowHeaders: string;
  /** Empty: no header. */
  readonly exposeHeaders: string;
}

export interface WeightedBackends {
  readonly entries: readonly WeightedBackendConfig[];
  readonly totalWeight: number;
}

export interface WeightedBackendConfig {
  readonly backend: string;
  readonly weight: number;
  readonly failure: Failure | undefined;
  /** Of the backend itself. */
  readonly policies: BackendPolicies;
  readonly filters: RouteFilters;
}

/** A backend, or a ProxyBackend that is a federation: that has no endpoints, its targets do. */
export interface BackendConfig extends ServerConfig {
  readonly federation?: FederationConfig | undefined;
}
