// Rules in the form the request path uses: compiled expressions, grouped by action.
import type { JwtAuthenticationConfig } from './jwt-authentication-config.ts';
import type { Expression } from '../../cel/expression.ts';
import type { PolicyPlace } from './policy-level.ts';

export type RuleAction = 'Allow' | 'Deny' | 'Require';

/** The rules of one policy. Several expressions: any of them for Allow and Deny, all of them for Require. */
export interface Rule extends PolicyPlace {
  readonly action: RuleAction;
  readonly expressions: readonly Expression[];
}

/** All rules that judge a request, from every level. */
export interface RuleSet {
  readonly deny: readonly Rule[];
  readonly require: readonly Rule[];
  /** One of them must match. */
  readonly allow: readonly Rule[];
  /** Allow rules of Overrides: each must match by itself, whatever the others allow. */
  readonly allowOverrides: readonly Rule[];
}

/** One expression of a rule. */
export interface RuleReference extends PolicyPlace {
  readonly action: RuleAction;
  /** Of the expression in matchExpressions. */
  readonly index: number;
  readonly source: string;
}

/** The outcome of one expression, for the log, the inspector and `explain`. */
export interface RuleOutcome extends RuleReference {
  /** skipped: it reads something that the message does not have, so it does not count. */
  readonly value: boolean | 'error' | 'skipped';
  /** With `error`. */
  readonly problem: string | undefined;
  /** What it read: the attribute and its value, shortened, secrets left out. */
  readonly saw: readonly { readonly attribute: string; readonly value: string }[];
}

/** The verdict of all rules. */
export interface RuleDecision {
  readonly allowed: boolean;
  /** The expression that decided; undefined when the request was allowed without an Allow rule, or when no Allow rule matched. */
  readonly decidedBy: RuleReference | undefined;
  /** The expression that decided could not be evaluated. */
  readonly problem: string | undefined;
  /** The Override whose Allow rule did not match. */
  readonly unmatchedOverride?: Rule;
}

/** A rule that sees a token only when one of the anchors accepts it. */
export interface AnchoredRule {
  readonly rule: Rule;
  readonly anchors: readonly JwtAuthenticationConfig[];
}

/** The rules that do not see every accepted token. */
export interface TokenTrust {
  /** For tokens that the route's JWT authentication accepted: it is below the level of these rules. */
  readonly ofRoute: readonly AnchoredRule[];
  /** For tokens that the backend's MCP authentication accepted: it is below the level of all rules over requests. */
  readonly ofBackend: readonly AnchoredRule[];
}
