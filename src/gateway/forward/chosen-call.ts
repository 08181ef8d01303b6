// Calls whose endpoint is not the next one of a list: an endpoint picker chooses it, or the messages of the request say which servers of a federation are asked.
import { createPickedCall } from '../inference/load-picked-call.ts';
import { createFederatedCall } from '../mcp/federation/methods/load-federated-call.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { ForwardPlan } from './forward-plan.ts';
import type { ForwarderSettings } from './forwarder-options.ts';
import type { UpstreamCall, UpstreamEvents, UpstreamRequest } from './upstream/upstream-call.ts';
import { type Endpoint, formatPickerKey, type UpstreamBackend } from './upstream/upstreams.ts';

interface ChosenCallParts {
  readonly settings: ForwarderSettings;
  readonly context: RequestContext;
  readonly plan: ForwardPlan;
  readonly backend: UpstreamBackend;
  readonly request: UpstreamRequest;
  readonly events: UpstreamEvents;
  readonly onEndpoint: (endpoint: Endpoint) => void;
}

/** Undefined: any endpoint of the backend will do. */
export function createChosenCall(parts: ChosenCallParts): UpstreamCall | undefined {
  const { settings, context, plan, backend: pool, request, events, onEndpoint } = parts;
  const { upstreams, clock, picks, federations, log } = settings;
  const { federation: federated } = plan.backend;
  if (federated !== undefined) {
    if (federations === undefined) throw new Error('a forwarder without federations got a request to one');
    const { backend, method, headers, host, read } = plan;
    return createFederatedCall(
      { federations, backend: backend.key, config: federated, context, method, headers, host, events, log },
      read,
    );
  }
  const { picker: config } = plan.backend;
  if (config === undefined) return undefined;
  return createPickedCall({
    pool,
    findPool: () => upstreams.get(pool.config.key),
    picker: upstreams.get(formatPickerKey(pool.config.key)),
    config,
    request,
    events,
    maxRetries: upstreams.limits.maxRetries,
    observer: picks,
    clock,
    onEndpoint,
    onTrouble: (detail) => (context.detail ??= `the endpoint picker: ${detail}`),
  });
}
