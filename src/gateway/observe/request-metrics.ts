// The gateway's metrics. Label values come from the configuration and from closed lists, each with a cap; never from values
// that a client can invent.
import type { Metrics } from '../../base/metrics.ts';
import { allPolicyKinds } from '../../ir/policy-kinds.ts';
import { decisionModes, decisionOutcomes } from '../request/decision.ts';
import { type Reason, reasons } from '../http/reasons.ts';
import { createPickMetrics } from '../inference/pick-metrics.ts';
import type { PickObserver } from '../inference/pick-observer.ts';
import { createTargetMetrics } from '../mcp/federation/target-metrics.ts';
import type { TargetObserver } from '../mcp/federation/target-observer.ts';
import { createDecisionFinder, createPlaceFinder, type PlaceCells, type RequestCellSource } from './request-cells.ts';
import { measureDuration, type RequestContext } from '../request/request-context.ts';

/** Hooks for the request path; every one is cheap and none throws. */
export interface RequestMetrics {
  start(context: RequestContext): void;
  /** With the same arguments as the access log. */
  finish(context: RequestContext, clean: boolean, bytesSent: number, bytesReceived: number): void;
  /** A streamed answer (SSE, an upgraded connection) began; call the result once, when it ends. */
  openStream(context: RequestContext): () => void;
}

/** Hooks for the connections of clients. */
export interface ConnectionMetrics {
  opened(): void;
  closed(): void;
  /** Refused before there was a request, e.g. too_many_connections. */
  refused(reason: Reason): void;
  handshakeFailed(): void;
}

/** Hooks for what happens between the gateway and its upstreams. */
export interface UpstreamMetrics {
  connectFailed(backend: string, reason: 'refused' | 'timeout' | 'tls' | 'dns' | 'other'): void;
  endpointEjected(backend: string): void;
  endpointReturned(backend: string): void;
  requestRetried(backend: string): void;
  readonly picks: PickObserver;
  /** The servers of federations. */
  readonly targets: TargetObserver;
}

/** Hooks for configuration. */
export interface ConfigMetrics {
  /** A configuration came into force. */
  applied(
    version: number,
    sizes: { readonly listeners: number; readonly routes: number; readonly backends: number },
  ): void;
  /** A change was refused as a whole: the last good one stays in force. */
  rejected(): void;
  /** Problems in the resources as they are now. */
  setProblems(count: number): void;
}

export interface GatewayMetrics {
  readonly requests: RequestMetrics;
  readonly connections: ConnectionMetrics;
  readonly upstreams: UpstreamMetrics;
  readonly config: ConfigMetrics;
}

const methods = ['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'CONNECT', 'TRACE'] as const;
const codes = Array.from({ length: 500 }, (_, index) => String(100 + index));
const reasonNames = ['', ...Object.keys(reasons)];
const maxRoutes = 500;
const maxListeners = 100;
const maxBackends = 500;
const maxPolicies = 500;

/** Seconds; MCP answers reach from a cached list to an SSE stream of many minutes. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/** Registers the gateway's metrics and returns the hooks that feed them. */
export function createGatewayMetrics(metrics: Metrics, version: string): GatewayMetrics {
  metrics
    .gauge('mcp_gateway_build_info', 'Always 1; the labels say what is running.', {
      version: { max: 1 },
      node: { max: 1 },
    })
    .set({ version, node: process.versions.node }, 1);
  return {
    requests: createRequestMetrics(metrics),
    connections: createConnectionMetrics(metrics),
    upstreams: createUpstreamMetrics(metrics),
    config: createConfigMetrics(metrics),
  };
}

/** Registers the metrics of requests. */
function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const listener = { max: maxListeners };
  const route = { max: maxRoutes };
  const requests = metrics.counter('mcp_gateway_requests_total', 'Requests answered, by status and reason.', {
    listener,
    route,
    method: { values: methods },
    code: { values: codes },
    reason: { values: reasonNames },
  });
  const duration = metrics.histogram(
    'mcp_gateway_request_duration_seconds',
    'From the complete request head to the end of the answer. Streams last as long as they are open.',
    { listener, route },
    durationBuckets,
  );
  const upstream = metrics.histogram(
    'mcp_gateway_upstream_response_seconds',
    "From the request to the upstream to its answer's head.",
    { listener, route },
    durationBuckets,
  );
  const decisions = metrics.counter('mcp_gateway_policy_decisions_total', 'What policies decided about requests.', {
    policy: { max: maxPolicies },
    step: { values: allPolicyKinds },
    mode: { values: decisionModes },
    outcome: { values: decisionOutcomes },
    reason: { values: reasonNames },
  });
  let received = 0;
  let sent = 0;
  metrics.counterOf('mcp_gateway_received_bytes_total', 'Body bytes received from clients.', () => received);
  metrics.counterOf('mcp_gateway_sent_bytes_total', 'Body bytes sent to clients.', () => sent);
  const streams = metrics.gauge('mcp_gateway_open_streams', 'Streamed answers that are open now.', { listener, route });
  let inFlight = 0;
  metrics.gaugeOf('mcp_gateway_requests_in_flight', 'Requests whose answer has not ended.', () => inFlight);
  const source: RequestCellSource = {
    findRequests: (place, method, status, reason) =>
      requests.at({ ...place, method, code: String(status), reason: reason ?? '' }),
    findDuration: (place) => duration.at(place),
    findUpstream: (place) => upstream.at(place),
    findDecisions: ({ policy, step, mode, outcome, reason = '' }) =>
      decisions.at({ policy, step, mode, outcome, reason }),
  };
  const findPlace = createPlaceFinder(source);
  const findDecision = createDecisionFinder(source);
  const placeOf = (context: RequestContext): PlaceCells =>
    findPlace(context.listener?.key ?? '', context.route?.httpRoute ?? '');
  return {
    start() {
      inFlight += 1;
    },
    finish(context, _clean, bytesSent, bytesReceived) {
      inFlight -= 1;
      const place = placeOf(context);
      place.findRequests(context.exchange.method, context.status, context.reason).value += 1;
      place.duration.observe(measureDuration(context) / 1_000);
      if (context.upstreamMs !== undefined) place.upstream.observe(context.upstreamMs / 1_000);
      for (const decision of context.decisions) findDecision(decision).value += 1;
      received += bytesReceived;
      sent += bytesSent;
    },
    openStream(context) {
      // Kept: the same labels must be counted down even if the route is gone by then.
      const { labels } = placeOf(context);
      let open = true;
      streams.add(labels, 1);
      return () => {
        if (!open) return;
        open = false;
        streams.add(labels, -1);
      };
    },
  };
}

/** Registers the metrics of client connections. */
function createConnectionMetrics(metrics: Metrics): ConnectionMetrics {
  let open = 0;
  metrics.gaugeOf('mcp_gateway_connections', 'Open client connections.', () => open);
  const accepted = metrics.counter('mcp_gateway_connections_total', 'Client connections accepted.', {});
  const refused = metrics.counter('mcp_gateway_connections_refused_total', 'Client connections refused.', {
    reason: { values: reasonNames },
  });
  const handshakes = metrics.counter('mcp_gateway_tls_handshake_failures_total', 'TLS handshakes that failed.', {});
  return {
    opened() {
      open += 1;
      accepted.add({});
    },
    closed() {
      open -= 1;
    },
    refused: (reason) => refused.add({ reason }),
    handshakeFailed: () => handshakes.add({}),
  };
}

/** Registers the metrics of upstreams. */
function createUpstreamMetrics(metrics: Metrics): UpstreamMetrics {
  const backend = { max: maxBackends };
  const connectFailures = metrics.counter(
    'mcp_gateway_upstream_connect_failures_total',
    'Failed connection attempts.',
    {
      backend,
      reason: { values: ['refused', 'timeout', 'tls', 'dns', 'other'] },
    },
  );
  const ejections = metrics.counter('mcp_gateway_upstream_ejections_total', 'Endpoints ejected after failures.', {
    backend,
  });
  const ejected = metrics.gauge('mcp_gateway_upstream_ejected_endpoints', 'Endpoints that are ejected now.', {
    backend,
  });
  const retries = metrics.counter('mcp_gateway_upstream_retries_total', 'Requests sent again to another endpoint.', {
    backend,
  });
  return {
    connectFailed: (key, reason) => connectFailures.add({ backend: key, reason }),
    endpointEjected(key) {
      ejections.add({ backend: key });
      ejected.add({ backend: key }, 1);
    },
    endpointReturned: (key) => ejected.add({ backend: key }, -1),
    requestRetried: (key) => retries.add({ backend: key }),
    picks: createPickMetrics(metrics),
    targets: createTargetMetrics(metrics),
  };
}

/** Registers the metrics of configuration. */
function createConfigMetrics(metrics: Metrics): ConfigMetrics {
  const applies = metrics.counter('mcp_gateway_config_applies_total', 'Configuration changes, by result.', {
    result: { values: ['applied', 'rejected'] },
  });
  applies.add({ result: 'applied' }, 0);
  applies.add({ result: 'rejected' }, 0);
  const size = metrics.gauge('mcp_gateway_config_resources', 'What the configuration in force serves.', {
    kind: { values: ['listener', 'route', 'backend'] },
  });
  let version = 0;
  let problems = 0;
  let appliedAt = 0;
  metrics.gaugeOf('mcp_gateway_config_version', 'Version of the configuration in force; counts up.', () => version);
  metrics.gaugeOf('mcp_gateway_config_problems', 'Problems in the resources as they are now.', () => problems);
  metrics.gaugeOf(
    'mcp_gateway_config_last_applied_timestamp_seconds',
    'When the configuration in force came into force; 0: never.',
    () => appliedAt,
  );
  return {
    applied(current, sizes) {
      version = current;
      appliedAt = Date.now() / 1_000;
      applies.add({ result: 'applied' });
      size.set({ kind: 'listener' }, sizes.listeners);
      size.set({ kind: 'route' }, sizes.routes);
      size.set({ kind: 'backend' }, sizes.backends);
    },
    rejected: () => applies.add({ result: 'rejected' }),
    setProblems(count) {
      problems = count;
    },
  };
}
