// Closed while the configuration is older than the operator allows (`onStale: Close`): no request gets to a server, and open streams end.
import { denyRequest } from './answer.ts';
import type { RequestContext } from './request-context.ts';

/** A gateway that looks for its controller finds it again within a few seconds. */
const retryAfter = ['retry-after', '5'];

/** What a gateway is to do about its old configuration. */
export interface StaleState {
  /** Why it is stale, for the operator. */
  readonly detail: string;
  /** No request is served. */
  readonly closes: boolean;
}

/** One for all requests of a process. */
export class StaleGate {
  readonly #streams = new Set<RequestContext>();
  #detail: string | undefined;

  /** Closes the gate, or opens it. */
  set(state: StaleState | undefined): void {
    const detail = state?.closes === true ? state.detail : undefined;
    this.#detail = detail;
    if (detail !== undefined) for (const context of this.#streams) end(context, detail);
  }

  /** Answers the request if the gate is closed. */
  refuse(context: RequestContext): boolean {
    if (this.#detail === undefined) return false;
    denyRequest(context, 'configuration_stale', { headers: retryAfter, detail: this.#detail });
    return true;
  }

  /** The answer of this request is a stream; call the result when it has ended. */
  openStream(context: RequestContext): () => void {
    this.#streams.add(context);
    // Its request came before the gate was closed. Not in this turn: the head of the answer is being sent.
    if (this.#detail !== undefined)
      setImmediate(() => {
        if (this.#detail !== undefined && this.#streams.has(context)) end(context, this.#detail);
      });
    return () => void this.#streams.delete(context);
  }
}

function end(context: RequestContext, detail: string): void {
  context.reason = 'configuration_stale';
  context.detail = detail;
  context.exchange.abort();
}
