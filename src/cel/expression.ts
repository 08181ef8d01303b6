// A compiled CEL expression, and what it can see (https://github.com/google/cel-spec). compile-expression.ts makes them.

/** Where an expression stands: `mcp` is there only in rules over MCP messages; in scope `claims` there is only `jwt`. */
export type ExpressionScope = 'request' | 'mcp' | 'claims';

/** What an expression sees. Plain values; maps are read by their own keys only, never by those of a prototype. */
export interface ExpressionVariables {
  /** Claims of the verified token, empty without one. The same object for the same token: it is prepared once. */
  readonly jwt: Readonly<Record<string, unknown>>;
  readonly request: RequestVariables;
  readonly source: { readonly address: string };
  /** In scope `mcp` only. */
  readonly mcp?: McpVariables | undefined;
}

export interface RequestVariables {
  readonly method: string;
  /** In its normal form, without the query. */
  readonly path: string;
  readonly host: string;
  readonly scheme: string;
  /** Names in lower case; several fields of one name joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** A parameter that was sent several times is `ambiguous`: reading it is an error, because the backend may use another of its values. */
  readonly query: Readonly<Record<string, string | typeof ambiguous>>;
  /** When the request arrived, in milliseconds; a timestamp in expressions. */
  readonly time: number;
}

export interface McpVariables {
  /** Empty for a request without a message. */
  readonly method: string;
  readonly protocolVersion: string;
  /** The arguments are `ambiguous` while they are not known: for an item of a list, which was not called yet. */
  readonly tool?:
    | {
        readonly name: string;
        readonly arguments?: Readonly<Record<string, unknown>> | typeof ambiguous | undefined;
      }
    | undefined;
  readonly resource?: { readonly uri: string } | undefined;
  readonly prompt?: { readonly name: string } | undefined;
  /** In a federation: the server of the tool, prompt or resource, and what that server calls it. */
  readonly target?:
    | {
        readonly name: string;
        readonly tool?: string | undefined;
        readonly prompt?: string | undefined;
        readonly uri?: string | undefined;
      }
    | undefined;
  /** Empty when there is none. */
  readonly sessionId: string;
}

/** Replaces a value that cannot be determined. */
export const ambiguous: unique symbol = Symbol('ambiguous');

/** A value, or why there is none. Never an exception. */
export type ExpressionOutcome =
  | { readonly ok: true; readonly value: boolean }
  | { readonly ok: false; readonly problem: string };

export interface Expression {
  readonly source: string;
  readonly scope: ExpressionScope;
  /** The attributes that it reads, each once, as far as they are known without evaluating: `jwt.groups` is ['jwt', 'groups']. */
  readonly reads: readonly (readonly string[])[];
  evaluate(variables: ExpressionVariables): ExpressionOutcome;
}

/** Why a text is no usable expression, and where. */
export interface ExpressionProblem {
  readonly message: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

export type ExpressionCompilation =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly problem: ExpressionProblem };
