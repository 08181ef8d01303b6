// Runs the steps of the request path in order.
import type { BackendConfig, MatchedRoute, RouteConfig, WeightedBackendConfig } from '../config/runtime-config.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { FindAppToolsOf } from './app-tools.ts';
import type { RequestContext } from './request-context.ts';
import { continueUnchanged, type Verdict } from './verdict.ts';

/** A request whose route is known. */
export interface RouteRequest {
  readonly context: RequestContext;
  readonly route: RouteConfig;
  /** The match that led to the route. */
  readonly matched: MatchedRoute;
}

/** A request whose backend is chosen. */
export interface BackendRequest extends RouteRequest {
  /** The weighted entry of the rule that was chosen, and its backend. */
  readonly choice: WeightedBackendConfig;
  readonly backend: BackendConfig;
  /** Of a federation: finds the tools that are called by the servers' own names. Undefined: none are found. */
  readonly findAppTools?: FindAppToolsOf<BackendRequest> | undefined;
}

/** One step. Returns synchronously when it can: a promise would slow down every request. */
export type Step<R> = (request: R) => Verdict | Promise<Verdict>;

/**
 * Runs steps until one answers or denies. Headers that earlier steps put on the answer stay on it in every case. The result is a promise
 * only when a step needed one.
 */
export function runSteps<R>(
  steps: readonly Step<R>[],
  request: R,
  collected: RawHeaders = noHeaders,
  start = 0,
): Verdict | Promise<Verdict> {
  let responseHeaders = collected;
  for (let index = start; index < steps.length; index += 1) {
    const verdict = steps[index]!(request);
    if (verdict instanceof Promise) {
      const headersSoFar = responseHeaders;
      return verdict.then((late) => {
        const merged = mergeHeaders(headersSoFar, late);
        return merged.kind === 'continue' ? runSteps(steps, request, merged.responseHeaders, index + 1) : merged;
      });
    }
    const merged = mergeHeaders(responseHeaders, verdict);
    if (merged.kind !== 'continue') return merged;
    ({ responseHeaders } = merged);
  }
  return responseHeaders.length === 0 ? continueUnchanged : { kind: 'continue', responseHeaders };
}

const noHeaders: RawHeaders = [];

function mergeHeaders(collected: RawHeaders, verdict: Verdict): Verdict {
  if (collected.length === 0) return verdict;
  if (verdict.kind === 'respond') return { ...verdict, headers: [...collected, ...verdict.headers] };
  if (verdict.kind === 'continue')
    return verdict.responseHeaders.length === 0
      ? { kind: 'continue', responseHeaders: collected }
      : { kind: 'continue', responseHeaders: [...collected, ...verdict.responseHeaders] };
  return { ...verdict, responseHeaders: [...collected, ...verdict.responseHeaders] };
}
