// Rules in the form the request path uses: expressions compiled, sorted by what they do.
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
  readonly allow: readonly Rule[];
}

/** One expression of a rule. */
export interface RuleReference extends PolicyPlace {
  readonly action: RuleAction;
  /** Of the expression in matchExpressions. */
  readonly index: number;
  readonly source: string;
}

/** What became of one expression, for the log, the inspector and `explain`. */
export interface RuleOutcome extends RuleReference {
  /** skipped: it reads what the message does not have, so it has no say. */
  readonly value: boolean | 'error' | 'skipped';
  /** With `error`. */
  readonly problem: string | undefined;
  /** What it read: the attribute and its value, shortened, secrets left out. */
  readonly saw: readonly { readonly attribute: string; readonly value: string }[];
}

/** The verdict of all rules. */
export interface RuleDecision {
  readonly allowed: boolean;
  /** The expression that decided; undefined when nothing spoke against it and no Allow was needed, or when no Allow rule matched. */
  readonly decidedBy: RuleReference | undefined;
  /** The expression that decided could not be evaluated. */
  readonly problem: string | undefined;
}

/** Who has to accept a token before a rule sees it: one of them. */
export interface AnchoredRule {
  readonly rule: Rule;
  readonly anchors: readonly JwtAuthenticationConfig[];
}

/** The rules that do not see every token that was let in. */
export interface TokenTrust {
  /** Of tokens that the route's JWT authentication let in: it is below these rules. */
  readonly ofRoute: readonly AnchoredRule[];
  /** Of tokens that the backend's MCP authentication let in, which is below all rules over requests. */
  readonly ofBackend: readonly AnchoredRule[];
}
