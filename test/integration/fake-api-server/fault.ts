// What can go wrong on the way to and inside an API server, on demand.

/** What happens to a request instead of its answer. */
export type Fault =
  /** An answer of this code, such as 429 with Retry-After, 500, 403 or 410. */
  | {
      readonly type: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
      /** The reason of its only cause: NamespaceTerminating */
      readonly cause?: string;
    }
  /** The connection is cut before an answer. */
  | { readonly type: 'drop' }
  /** The connection is cut in the middle of the answer. */
  | { readonly type: 'cut' }
  /** 200, and a body that is no JSON. */
  | { readonly type: 'garbage' }
  /** No answer; the connection stays open. */
  | { readonly type: 'hang' }
  /** The answer comes after this settled. */
  | { readonly type: 'wait'; readonly until: Promise<unknown> };

/** What the client wanted to do. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'post';

/** A request as the server understood it. */
export interface SeenRequest {
  readonly verb: Verb;
  /** Undefined for paths that are no resource. */
  readonly kind: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

/** Which requests, and how often. */
export interface FaultRule {
  readonly verb?: Verb;
  readonly kind?: string;
  readonly namespace?: string;
  readonly when?: (request: SeenRequest) => boolean;
  /** Default 1; Infinity: until it is removed. */
  readonly times?: number;
  readonly fault: Fault;
}

export class FaultList {
  readonly #rules: { readonly rule: FaultRule; left: number }[] = [];

  /** Returns what removes the rule. */
  add(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? 1 };
    this.#rules.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  /** The fault for a request, which is used up by it. */
  take(request: SeenRequest): Fault | undefined {
    const entry = this.#rules.find(
      ({ rule, left }) =>
        left > 0 &&
        (rule.verb === undefined || rule.verb === request.verb) &&
        (rule.kind === undefined || rule.kind === request.kind) &&
        (rule.namespace === undefined || rule.namespace === request.namespace) &&
        (rule.when === undefined || rule.when(request)),
    );
    if (entry === undefined) return undefined;
    entry.left -= 1;
    return entry.rule.fault;
  }
}
