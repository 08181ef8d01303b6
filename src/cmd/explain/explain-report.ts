// What `explain` found out, as data. The JSON form is this, and documented in docs/explain.md.
import type { PolicyKind } from '../../ir/policy-kinds.ts';

/** Everything about one request. What does not apply, or is not known, is null or empty. */
export interface ExplainReport {
  readonly request: ExplainedRequest;
  readonly token: ExplainedToken | null;
  readonly listener: ExplainedListener | null;
  /** Null: no route matches, or the gateway has an endpoint of its own there. */
  readonly route: ExplainedRoute | null;
  /** The gateway has an endpoint of its own at this path, for logins: protected-resource-metadata, register, token, ... */
  readonly ownEndpoint: string | null;
  /** More specific matches of the same path that were tried before; when no route matches, all of them. */
  readonly passedOver: readonly PassedOver[];
  /** In the order in which they are asked. */
  readonly policies: readonly ExplainedPolicy[];
  readonly verdict: ExplainedVerdict;
  /** What the client gets from the gateway itself; null when the request is forwarded. */
  readonly answer: ExplainedAnswer | null;
  readonly forward: ExplainedForward | null;
  /** With several tools, prompts or resources: what may be used. The rest of the report is then about the request that lists them. */
  readonly items: readonly ExplainedItem[] | null;
  /** What a reader should know about the report itself. */
  readonly notes: readonly string[];
}

/** The request. */
export interface ExplainedRequest {
  /** Null for a request that was only planned. */
  readonly id: string | null;
  /** RFC 3339; null for a request that was only planned. */
  readonly time: string | null;
  readonly method: string;
  /** Of a request that happened: without the scheme and the query, which are not kept. */
  readonly url: string;
  /** Address of the client; empty when not known. */
  readonly source: string;
  /** Null: the body has no message, or is not known. Of a request that happened: known where rules over messages read it. */
  readonly message: {
    readonly method: string;
    readonly tool: string | null;
    readonly prompt: string | null;
    readonly resource: string | null;
    /** Empty when not known. */
    readonly protocolVersion: string;
    /** Messages in the body. Of a batch that happened this is the first one that was refused, else the first. */
    readonly count: number;
    /** The command line names no message, and a client would send one. */
    readonly assumed: boolean;
  } | null;
}

/** Who asks. */
export interface ExplainedToken {
  readonly from: 'token' | 'claims' | 'request';
  /** Null when no policy accepted the token, or the token has no subject. */
  readonly subject: string | null;
  readonly issuer: string | null;
  /** One per policy that judged it. */
  readonly signatures: readonly {
    readonly policy: string;
    readonly issuer: string;
    /** checked: with keys at hand. unchecked: the keys were not fetched. assumed: there is no token, only claims. */
    readonly state: 'checked' | 'unchecked' | 'assumed';
    /** Completes "the keys are". */
    readonly keys: string;
    /** Claims that were filled in, because --claims does not have them. */
    readonly assumedClaims: readonly string[];
  }[];
}

/** The listener that the request came in on. */
export interface ExplainedListener {
  /** namespace/name */
  readonly gateway: string;
  readonly name: string;
  readonly protocol: string;
  readonly port: number | null;
  /** Empty: any. */
  readonly hostname: string;
}

/** The rule that serves the request. */
export interface ExplainedRoute {
  /** namespace/name */
  readonly httpRoute: string;
  /** Its name, or its index. */
  readonly rule: string;
  /** What it matches, for people; empty when not known. */
  readonly match: string;
}

/** A match that did not fit. */
export interface PassedOver {
  readonly httpRoute: string;
  readonly rule: string;
  readonly match: string;
  readonly why: string;
}

/** One field of one policy. */
export interface ExplainedPolicy {
  /** `closed`: a policy that cannot be enforced, so that its target is closed. */
  readonly field: PolicyKind | 'closed';
  /** namespace/name */
  readonly policy: string;
  /** Gateway, listener, HTTPRoute, rule or ProxyBackend; null when not known. */
  readonly level: string | null;
  /** Where it is attached, for people; empty when not known. */
  readonly target: string;
  /** The policy that has the field instead, more specific or at the same place; an empty `policy` is a filter of the rule. */
  readonly overriddenBy: { readonly policy: string; readonly target: string } | null;
  /**
   * What this policy itself says. allow: nothing against it. deny: it refused. also_denies: another one refused first, and it would have too.
   * no_say: none of its expressions counts here, or another policy has the field at the same place. respond: it answered.
   * overridden: a more specific one has a say instead. not_asked: it does not concern this request. not_reached: the request was answered before.
   */
  readonly outcome:
    | 'allow'
    | 'deny'
    | 'also_denies'
    | 'no_say'
    | 'respond'
    | 'overridden'
    | 'not_asked'
    | 'not_reached';
  /** Strict, Optional, Permissive; empty for others. */
  readonly mode: string;
  readonly reason: string | null;
  readonly detail: string | null;
  /** Its expressions, with what each said and saw. */
  readonly rules: readonly ExplainedRule[];
}

/** One expression. */
export interface ExplainedRule {
  readonly action: 'Allow' | 'Deny' | 'Require';
  /** Its place in matchExpressions. */
  readonly index: number;
  readonly expression: string;
  /** error: it could not be evaluated, which counts as a match for Deny and as none otherwise. skipped: it reads what this message does not have. */
  readonly value: boolean | 'error' | 'skipped';
  /** With `error`. */
  readonly problem: string | null;
  /** This one decided. */
  readonly decided: boolean;
  /** The attributes that it reads, with their values; credentials left out. */
  readonly saw: readonly { readonly attribute: string; readonly value: string }[];
}

/** What becomes of the request. */
export interface ExplainedVerdict {
  /** answered: by the gateway, and not as a refusal, e.g. with a redirect. */
  readonly outcome: 'forwarded' | 'answered' | 'denied';
  /** As in the answer, the access log and the metrics. */
  readonly reason: string | null;
  /** For the operator: never in the answer. */
  readonly detail: string | null;
}

/** An answer, as it is on the wire. */
export interface ExplainedAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Where the request goes, and how it is changed on the way. Credentials are replaced by [redacted]. */
export interface ExplainedForward {
  /** For people: "ProxyBackend default/tickets". */
  readonly backend: string;
  /** All backends of the rule; the weights say how requests are split. */
  readonly choices: readonly { readonly backend: string; readonly weight: number }[];
  /** One of these gets the request: which one the picker says, where there is one. */
  readonly endpoints: readonly string[];
  /** Who chooses among the endpoints of an InferencePool; null for other backends, and when not known. */
  readonly picker: ExplainedPicker | null;
  /** In a federation: the server that gets the message, or all of them; null for other backends, and when not known. */
  readonly federation: ExplainedFederation | null;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  /** By policies and filters. */
  readonly addedHeaders: readonly (readonly [name: string, value: string])[];
  /** Names. */
  readonly removedHeaders: readonly string[];
  /** What the gateway always says about the client: x-forwarded-* and x-request-id. */
  readonly ownHeaders: readonly (readonly [name: string, value: string])[];
  /** Lists in the answer are cut down to what this caller may use. */
  readonly filtersAnswer: boolean;
  /** Backends that get a copy. */
  readonly mirrors: readonly string[];
}

/** What of a federation a message concerns. */
export interface ExplainedFederation {
  /** In the order of lists. */
  readonly targets: readonly { readonly name: string; /** Null: names have none. */ readonly prefix: string | null }[];
  /** What the server calls the tool, prompt or resource; null: the message names none. */
  readonly item: {
    /** Null: the name leads to no target; or, where names have no prefixes, to the one that lists it. */
    readonly target: string | null;
    readonly own: string | null;
    /** Whether `include` and `exclude` of the target let it be served. */
    readonly isServed: boolean;
  } | null;
}

/** The endpoint picker of an InferencePool. It is not asked when a request is only explained. */
export interface ExplainedPicker {
  /** host:port; one of them is asked. */
  readonly endpoints: readonly string[];
  readonly tls: 'none' | 'unverified' | 'verified';
  /** Without an answer. FailClose: 503. FailOpen: any endpoint of the pool. */
  readonly failureMode: 'FailClose' | 'FailOpen';
  /** The longest wait for an answer. */
  readonly timeoutMs: number;
}

/** A tool, prompt or resource, and whether this caller may use it. */
export interface ExplainedItem {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly name: string;
  readonly allowed: boolean;
  /** Whether it is in the list that the caller gets. */
  readonly listed: boolean;
  /** Why not. */
  readonly reason: string | null;
  readonly detail: string | null;
}
