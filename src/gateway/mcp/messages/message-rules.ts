// Rules over MCP messages in the form the request path uses.
import type { RuleSet } from '../../policies/authorization/rule-set.ts';

/** One ProxyPolicy's `backend.mcp.authorization`. A new object when anything about it changed, the same one otherwise. */
export interface MessageRules {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly rules: RuleSet;
  readonly scopes: readonly ScopeRule[];
}

/** A call that fits needs all of the scopes. */
export interface ScopeRule {
  /** Undefined: any. */
  readonly methods: ReadonlySet<string> | undefined;
  /** By tool name; undefined: any message, with a tool or without. */
  readonly matchesTool: ((name: string) => boolean) | undefined;
  readonly scopes: readonly string[];
}
