// The variables of expressions over a request. Created once per request that has rules; headers and query are parsed on first use.
import { ambiguous, type ExpressionVariables, type RequestVariables } from '../../cel/expression.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { VerifiedToken } from '../authentication/token/verified-token.ts';

const noClaims: Readonly<Record<string, unknown>> = Object.freeze({});

/** The variables of a request in the name of a token. */
export function readRequestVariables(context: RequestContext, token: VerifiedToken | undefined): ExpressionVariables {
  return {
    jwt: token?.claims ?? noClaims,
    request: new RequestView(context),
    source: { address: context.client.address },
  };
}

class RequestView implements RequestVariables {
  readonly #context: RequestContext;
  #headers: Record<string, string> | undefined;
  #query: Record<string, string | typeof ambiguous> | undefined;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  get method(): string {
    return this.#context.exchange.method;
  }
  get path(): string {
    return this.#context.path;
  }
  get host(): string {
    return this.#context.hostname;
  }
  get scheme(): string {
    return this.#context.client.scheme;
  }
  get time(): number {
    return this.#context.startedAtMs;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= joinHeaders(this.#context.exchange.headers);
    return this.#headers;
  }

  get query(): Readonly<Record<string, string | typeof ambiguous>> {
    this.#query ??= readQuery(this.#context.query);
    return this.#query;
  }
}

function joinHeaders(headers: readonly string[]): Record<string, string> {
  const joined = createMap<string>();
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const value = headers[i + 1]!;
    // HTTP/2 clients send a field per cookie (RFC 9113 8.2.3).
    joined[name] = name in joined ? `${joined[name]}${name === 'cookie' ? '; ' : ', '}${value}` : value;
  }
  return joined;
}

/** Decodes the query as application/x-www-form-urlencoded, like most servers behind the gateway. */
function readQuery(query: string): Record<string, string | typeof ambiguous> {
  const values = createMap<string | typeof ambiguous>();
  for (const [name, value] of new URLSearchParams(query)) values[name] = name in values ? ambiguous : value;
  return values;
}

/** Without a prototype: a header named `constructor` is just a header. */
function createMap<V>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}
