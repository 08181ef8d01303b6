// Rules over MCP messages in the form the request path uses.
import type { Expression, ExpressionOutcome } from '../../cel/expression.ts';
import type { RuleSet } from './rule-set.ts';

/** One ProxyPolicy's `backend.mcp.authorization`. A new object when anything about it changed, the same one otherwise. */
export interface McpAuthorizationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly rules: RuleSet;
  /** False: there are only scopes, and answers are not filtered. */
  readonly hasRules: boolean;
  readonly scopes: readonly ScopeRule[];
  /** Methods that an expression or a scope entry names: allowed even when the protocol version does not define them. */
  readonly namedMethods: ReadonlySet<string>;
  /** The keys of tool arguments that expressions read. */
  readonly argumentKeys: KnownKeys;
  /** The assumed outcome of expressions over arguments while these are unknown: in favour of the item. */
  readonly withoutArguments: ReadonlyMap<Expression, ExpressionOutcome>;
  /** An expression reads `mcp.resource`: URIs that can be read in two ways are refused (ambiguous-uri.ts). */
  readonly readsResources: boolean;
}

/** A matching call needs all of the scopes. */
export interface ScopeRule {
  /** Undefined: any. */
  readonly methods: ReadonlySet<string> | undefined;
  /** By tool name; undefined: any message, with a tool or without. */
  readonly matchesTool: ((name: string) => boolean) | undefined;
  readonly scopes: readonly string[];
}

/** Relevant keys of an object by their case-folded form: mostly one spelling each. */
export type KnownKeys = ReadonlyMap<string, readonly string[]>;
