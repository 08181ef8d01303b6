// A request that policies had a say in, as the admin port shows it (GET /requests) and `explain --request-id` reads it.

/** A request as GET /requests shows it. What is unknown is null. */
export interface JournaledRequest {
  /** The id that the client saw. */
  readonly id: string;
  /** When its head had arrived (ISO 8601), and how long the whole of it took. */
  readonly time: string;
  readonly milliseconds: number;
  readonly method: string;
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly reason: string | null;
  /** For the operator: what exactly failed. */
  readonly detail: string | null;
  /** A policy refused it, or a message in it; otherwise all of them let it pass, whatever became of it then. */
  readonly refused: boolean;
  readonly listener: string | null;
  readonly route: {
    /** As in the access log: namespace/name/index. */
    readonly key: string;
    /** namespace/name of the HTTPRoute. */
    readonly httpRoute: string;
    /** Empty when the rule has no name. */
    readonly ruleName: string;
    readonly ruleIndex: number;
  } | null;
  readonly backend: string | null;
  readonly endpoint: string | null;
  readonly caller: {
    readonly subject: string | null;
    readonly issuer: string;
    readonly clientId: string | null;
  } | null;
  /** The MCP message, where rules over messages read it; of a batch the first one that was refused, else the first. */
  readonly message: {
    readonly method: string;
    readonly kind: 'tool' | 'prompt' | 'resource' | null;
    /** The tool, the prompt, or the URI of the resource without its query; null: it uses none. */
    readonly item: string | null;
    /** Messages in the body. */
    readonly count: number;
  } | null;
  /** In the order in which they were made. */
  readonly decisions: readonly JournaledDecision[];
  /** Further ones that were not kept. */
  readonly omittedDecisions: number;
}

/** What one policy decided. */
export interface JournaledDecision {
  /** The field of the ProxyPolicy: "traffic.authorization". */
  readonly step: string;
  /** namespace/name of the ProxyPolicy. */
  readonly policy: string;
  /** Where that policy is attached: Gateway, listener, HTTPRoute, rule or ProxyBackend, and in words; null when it is at several places. */
  readonly level: string | null;
  readonly target: string | null;
  /** Strict, Optional or Permissive; null for rules. */
  readonly mode: string | null;
  readonly outcome: 'allow' | 'deny' | 'respond';
  readonly reason: string | null;
  readonly detail: string | null;
  /** The expression that decided; null when none did, or the policy has none. */
  readonly decidedBy: JournaledRule | null;
  /** Every expression with what it said and saw: of requests that were denied. */
  readonly rules: readonly JournaledRuleOutcome[];
  /** Further ones that were not kept. */
  readonly omittedRules: number;
}

/** One expression of a policy. */
export interface JournaledRule {
  readonly policy: string;
  /** Gateway, listener, HTTPRoute, rule or ProxyBackend. */
  readonly level: string;
  /** Where the policy is attached, in words. */
  readonly target: string;
  readonly action: 'Allow' | 'Deny' | 'Require';
  /** Of the expression in matchExpressions. */
  readonly index: number;
  readonly expression: string;
}

/** What became of an expression. */
export interface JournaledRuleOutcome extends JournaledRule {
  readonly value: boolean | 'error' | 'skipped';
  /** With `error`. */
  readonly problem: string | null;
  /** The attributes that it reads, and their values when it was asked. */
  readonly saw: readonly { readonly attribute: string; readonly value: string }[];
}
