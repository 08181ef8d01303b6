// What `status` found out, as data. The JSON form is this, and documented in docs/status.md.

/** Everything that was looked at. What does not apply, or is not known, is null or empty. */
export interface StatusReport {
  /** The API server. */
  readonly server: string;
  /** Null: all of them. */
  readonly namespace: string | null;
  /** Whether all is as it should be, and all of it could be read. */
  readonly well: boolean;
  readonly controller: StatusController;
  /** The classes of this controller. */
  readonly gatewayClasses: readonly StatusGatewayClass[];
  /** Those of its classes, and those whose class does not exist. */
  readonly gateways: readonly StatusGateway[];
  readonly httpRoutes: readonly StatusRoute[];
  readonly proxyPolicies: readonly StatusPolicy[];
  readonly proxyBackends: readonly StatusBackend[];
  /** Those that a Gateway of this controller leads to; none where the Inference Extension is off, or may not be looked at. */
  readonly inferencePools: readonly StatusPool[];
  /** How many HTTPRoutes have rules that anybody may use, and how many have rules that are closed because nothing protects them. */
  readonly access: {
    readonly routes: number;
    readonly open: number;
    /** Of the open ones: those that only a policy with traffic.publicAccess opens. */
    readonly publicAccess: number;
    readonly closed: number;
  };
  /** Resources that belong to other controllers, and are not shown. */
  readonly ofOthers: { readonly gateways: number; readonly httpRoutes: number; readonly inferencePools: number };
  /** Kinds that could not be read. */
  readonly unread: readonly UnreadKind[];
  /** What is not as it should be, why, and what to do. */
  readonly problems: readonly StatusProblem[];
  /** What works as it was configured, and could be safer. All may be well with it. */
  readonly remarks: readonly StatusRemark[];
}

/** Which resource, and how it is. */
export interface StatusResource {
  /** Empty for a kind without one. */
  readonly namespace: string;
  readonly name: string;
  readonly state: StatusState;
}

/**
 * well: as it should be. unwell: a condition says otherwise. stale: the controller has not seen the latest change.
 * untouched: no controller has said anything.
 */
export type StatusState = 'well' | 'unwell' | 'stale' | 'untouched';

/** A condition as it stands in the resource. */
export interface StatusCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** It is about an earlier form of the resource. */
  readonly stale: boolean;
  /** Whether the status is the one that it should have. */
  readonly good: boolean;
}

export interface StatusGatewayClass extends StatusResource {
  readonly conditions: readonly StatusCondition[];
}

export interface StatusGateway extends StatusResource {
  readonly gatewayClass: string;
  readonly addresses: readonly string[];
  readonly listeners: readonly {
    readonly name: string;
    readonly protocol: string;
    readonly port: number | null;
    /** Null: nobody has counted. */
    readonly attachedRoutes: number | null;
    readonly conditions: readonly StatusCondition[];
  }[];
  readonly conditions: readonly StatusCondition[];
}

export interface StatusRoute extends StatusResource {
  /** Empty: any. */
  readonly hostnames: readonly string[];
  readonly parents: readonly {
    /** namespace/name */
    readonly gateway: string;
    /** A listener; empty: all of them. */
    readonly section: string;
    /** Null: any. */
    readonly port: number | null;
    readonly state: StatusState;
    readonly conditions: readonly StatusCondition[];
  }[];
}

export interface StatusPolicy extends StatusResource {
  /** As the policy names them: `Gateway public`, `HTTPRoute tickets, rule mcp`. */
  readonly targets: readonly string[];
  readonly ancestors: readonly {
    /** `Gateway`, or what the policy targets when no Gateway leads to it. */
    readonly kind: string;
    /** namespace/name */
    readonly name: string;
    readonly section: string;
    readonly state: StatusState;
    readonly conditions: readonly StatusCondition[];
  }[];
}

export interface StatusBackend extends StatusResource {
  /** The MCP servers: `tickets 127.0.0.1:3001/mcp`. */
  readonly targets: readonly string[];
  readonly conditions: readonly StatusCondition[];
}

export interface StatusPool extends StatusResource {
  /** The endpoint picker: `Service picker:9002, FailClose`; empty: none is named. */
  readonly picker: string;
  readonly parents: readonly {
    /** namespace/name */
    readonly gateway: string;
    readonly state: StatusState;
    readonly conditions: readonly StatusCondition[];
  }[];
}

/** The controller, as far as one may look. */
export interface StatusController {
  readonly namespace: string;
  /** Empty: none, or not to be seen. */
  readonly deployments: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly readyReplicas: number;
  }[];
  /** Null: there is none, or it is not to be seen. */
  readonly leader: {
    /** The pod. */
    readonly holder: string;
    /** RFC 3339 */
    readonly renewed: string;
    /** Whether the lease has run out: nobody leads. */
    readonly expired: boolean;
  } | null;
  /** What could not be seen. */
  readonly notes: readonly string[];
}

/** A kind that could not be read. */
export interface UnreadKind {
  readonly kind: string;
  readonly why: 'not-installed' | 'forbidden' | 'failed';
  readonly message: string;
  readonly advice: string;
}

/** One thing that is not as it should be. */
export interface StatusProblem {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Which part of it: "listener https", "at Gateway default/public"; empty: all of it. */
  readonly part: string;
  /** unwell: something is wrong. stale, untouched: nobody knows yet whether something is. */
  readonly state: Exclude<StatusState, 'well'>;
  /** Null: no condition says it. */
  readonly condition: { readonly type: string; readonly status: string; readonly reason: string } | null;
  readonly message: string;
  /** What to do; empty when nothing is known. */
  readonly advice: string;
}

/** One thing that could be safer. */
export interface StatusRemark {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
  /** What to do. */
  readonly advice: string;
}
