// Sends one request through the request path of the gateway and stops where it would leave for a backend.
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { type Log, silentLog } from '../../base/log.ts';
import { denyRequest } from '../../gateway/request/answer.ts';
import type { PortConfig, RuntimeConfig, WeightedBackends } from '../../gateway/config/runtime-config.ts';
import type { ForwardPlan } from '../../gateway/forward/forward-plan.ts';
import { findUnsendableHeader } from '../../gateway/http/headers.ts';
import { routeUpstreamRequest } from '../../gateway/forward/route-upstream-request.ts';
import type { UpstreamRequest } from '../../gateway/forward/upstream/upstream-call.ts';
import { Upstreams } from '../../gateway/forward/upstream/upstreams.ts';
import { createRequestHandler } from '../../gateway/handle-request.ts';
import type { RawHeaders } from '../../gateway/http/exchange.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import { type MemoryAnswer, MemoryExchange } from './memory-exchange.ts';
import type { RequestLine } from './request-line.ts';

/** What is sent, and where it comes in. */
export interface PlannedRequest {
  readonly line: RequestLine;
  readonly port: PortConfig;
  readonly headers: RawHeaders;
  readonly body: string | undefined;
  readonly source: string;
  /** Of a rule that splits requests: this backend, by its key. */
  readonly backend: string | undefined;
}

/** What became of it. */
export interface RequestOutcome {
  readonly context: RequestContext;
  /** Set when the gateway answers itself. */
  readonly answer: MemoryAnswer | undefined;
  readonly forwarded: ForwardedRequest | undefined;
}

/** A request on the threshold. */
export interface ForwardedRequest {
  readonly plan: ForwardPlan;
  /** As the endpoint gets it. */
  readonly request: UpstreamRequest;
  /** host:port of the endpoint that the session is bound to; undefined: any. */
  readonly endpoint: string | undefined;
}

/** Runs it. Nothing leaves the process. */
export async function runRequest(runtime: RuntimeConfig, planned: PlannedRequest): Promise<RequestOutcome> {
  const exchange = createExchange(planned);
  const upstreams = new Upstreams();
  upstreams.reconcile(runtime.backends);
  let context: RequestContext | undefined;
  let mistake: unknown;
  // What the request path logs as an error is a bug of the gateway; without this it would go unnoticed here.
  const log: Log = { ...silentLog, error: (fields: { readonly err?: unknown }) => void (mistake = fields.err) };
  const forwarding = Promise.withResolvers<ForwardedRequest>();
  try {
    const handle = createRequestHandler({
      getConfig: () => runtime,
      forward(ofRequest, plan) {
        const forwarded = prepareForward(upstreams, ofRequest, plan);
        if (forwarded !== undefined) forwarding.resolve(forwarded);
      },
      observers: [{ start: (started) => void (context = started), finish: () => {} }],
      log,
      random: () => findShare(context?.route?.backends, planned.backend),
      explained: true,
    });
    handle(exchange, planned.port);
    const end = await Promise.race([
      exchange.answered.then((answer) => ({ answer, forwarded: undefined })),
      forwarding.promise.then((forwarded) => ({ answer: undefined, forwarded })),
    ]);
    if (mistake !== undefined) throw mistake;
    return { context: context!, ...end };
  } finally {
    upstreams.destroy();
  }
}

/** What the forwarder does before it opens a connection; undefined when it answered in place of that. */
function prepareForward(
  upstreams: Upstreams,
  context: RequestContext,
  plan: ForwardPlan,
): ForwardedRequest | undefined {
  const refuse = (reason: 'bad_request' | 'no_endpoints' | 'session_gone', detail?: string): undefined => {
    const headers = plan.extraResponseHeaders.filter((_, index, all) => all[index - (index % 2)] !== 'x-request-id');
    denyRequest(context, reason, { headers, ...(detail !== undefined && { detail }) });
  };
  const unsendable = findUnsendableHeader(plan.headers) ?? findUnsendableHeader(['host', plan.host]);
  if (unsendable !== undefined) return refuse('bad_request', `the value of ${unsendable} cannot be sent in a header`);
  const backend = upstreams.get(plan.backend.key);
  const isEmpty = backend?.config.federation === undefined && backend?.endpoints.length === 0;
  if (backend === undefined || isEmpty) return refuse('no_endpoints');
  const routed = routeUpstreamRequest(context, plan, backend, randomBytes(32));
  if (routed.kind === 'refused')
    return refuse(routed.reason === 'session_gone' ? 'session_gone' : 'bad_request', routed.detail);
  return { plan, request: routed.request, endpoint: routed.endpoint?.pool.name };
}

/** The request as if it had come over a connection to the port. */
export function createExchange({ line, port, headers, body, source }: PlannedRequest): MemoryExchange {
  const isTls = port.protocol === 'HTTPS';
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
  return new MemoryExchange({
    method: line.method,
    target: line.target,
    authority: line.authority,
    // What the connection is, whatever the URL says: a gateway behind a proxy sees the proxy's.
    scheme: isTls ? 'https' : 'http',
    headers: ['host', line.authority, ...headers, ...length],
    remoteAddress: source,
    localPort: port.port,
    serverName: isTls && isIP(line.hostname.replaceAll(/[[\]]/g, '')) === 0 ? line.hostname : undefined,
    body,
  });
}

/** A number by which weights choose the wanted backend, or the first that gets requests at all. */
export function findShare(backends: WeightedBackends | undefined, wanted: string | undefined): number {
  if (backends === undefined || backends.totalWeight === 0) return 0;
  let before = 0;
  for (const { backend, weight } of backends.entries) {
    if (weight > 0 && (wanted === undefined || backend === wanted)) return (before + weight / 2) / backends.totalWeight;
    before += weight;
  }
  return 0;
}
