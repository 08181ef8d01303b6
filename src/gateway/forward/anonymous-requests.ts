// Requests under way that no token identifies. When a configuration closes what they passed, they end: a stream that began while a route was open must not outlive
// that. Requests with a token go on: the token was judged.
import type { Log } from '../../base/log.ts';
import type { ListenerConfig, RouteConfig, RuntimeConfig } from '../config/runtime-config.ts';
import type { Reason } from '../http/reasons.ts';
import { admitsAnonymousTo } from '../policies/rule-protection.ts';
import type { RequestContext } from '../request/request-context.ts';
import { findRoute } from '../route/match-route.ts';

/** One of them. */
export interface AnonymousRequest {
  /** Ends it, with an answer if none has begun. */
  breakOff(reason: Reason, detail: string): void;
}

/** All of them, of one gateway process. */
export class AnonymousRequests {
  readonly #log: Log;
  readonly #open = new Map<AnonymousRequest, RequestContext>();
  #config: RuntimeConfig | undefined;
  #changedAt = 0;
  #listeners: ReadonlyMap<string, ListenerConfig> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** How many are under way. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes a request that is about to be forwarded, unless a token identifies it. Its policies may be of a configuration that is no longer in force. */
  add(request: AnonymousRequest, context: RequestContext): void {
    if (context.caller !== undefined) return;
    this.#open.set(request, context);
    if (context.startedAt <= this.#changedAt) this.#judge(request, context);
  }

  /** The request has ended. */
  remove(request: AnonymousRequest): void {
    this.#open.delete(request);
  }

  /** Another configuration is in force. */
  reconcile(config: RuntimeConfig): void {
    this.#config = config;
    this.#changedAt = performance.now();
    this.#listeners = undefined;
    for (const [request, context] of this.#open) this.#judge(request, context);
  }

  #judge(request: AnonymousRequest, context: RequestContext): void {
    if (this.#config === undefined || context.listener === undefined) return;
    this.#listeners ??= indexListeners(this.#config);
    const listener = this.#listeners.get(context.listener.key);
    const route = listener === undefined ? undefined : findRoute(context, listener)?.route;
    // What was removed serves no requests; those that it has end by themselves.
    if (route === undefined || route === context.route || route.filters.redirect !== undefined) return;
    const reason = findRefusal(route, context.backend);
    if (reason === undefined) return;
    this.#open.delete(request);
    try {
      request.breakOff(reason, 'the policies changed while the request was open, and it has no token');
    } catch (error) {
      this.#log.error({ err: error, request_id: context.requestId }, 'a request could not be ended');
    }
  }
}

/** Why a request without a token would be refused now, whatever it asks for; undefined: it may be served. */
function findRefusal(route: RouteConfig, backend: string | undefined): Reason | undefined {
  if (route.policies.failure !== undefined) return 'policy_invalid';
  if (route.unprotected !== undefined) return 'policy_unattached';
  if (route.closedByDefault !== undefined) return 'route_unprotected';
  return admitsAnonymousTo(route, backend ?? '') ? undefined : 'missing_token';
}

function indexListeners({ ports }: RuntimeConfig): ReadonlyMap<string, ListenerConfig> {
  const listeners = new Map<string, ListenerConfig>();
  for (const port of ports.values())
    for (const [, listener] of port.listeners.entries()) listeners.set(listener.key, listener);
  return listeners;
}
