// OpenTelemetry spans for requests, exported when the standard OTEL_ variables ask for it. The SDK is loaded only then: it costs
// memory and start time.
import type { Attributes, Context, Span, TraceAPI } from '@opentelemetry/api';
import type { Log } from '../../base/log.ts';
import { redactText } from '../../base/redact.ts';
import { reasons } from '../http/reasons.ts';
import type { RequestContext } from '../request/request-context.ts';
import { formatTraceParent, readTraceContext } from '../http/trace-context.ts';

/** Hooks for the request path. None of them waits for the collector. */
export interface Tracing {
  /** Begins the server span, as part of the client's trace if it named one; sets context.traceparent to it. */
  startRequest(context: RequestContext): void;
  /** Begins the client span of the call upstream; sets context.traceparent to it. Call it before the headers are built. */
  startUpstream(context: RequestContext): void;
  /** Ends the spans of a request, when its exchange closed. */
  finish(context: RequestContext): void;
  /** Exports what is left and lets go of the exporter; gives up after the time. */
  stop(timeoutMs: number): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** At most one line about a collector in trouble in this time. */
const reportEveryMs = 60_000;

/** Methods that may appear as such; others become _OTHER, as the semantic conventions ask. */
const knownMethods = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE', 'QUERY']);

/** Whether the environment asks for traces to be exported. */
export function wantsTracing(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  const exporters = (env['OTEL_TRACES_EXPORTER'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (exporters.length > 0) return !exporters.includes('none');
  return (env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? '') !== '' || (env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '') !== '';
}

/**
 * Starts tracing if the environment asks for it. The SDK reads its settings (endpoint, protocol, sampler, batching, resource)
 * from process.env itself. Tracing that cannot start is reported and left out: it never keeps the gateway from serving.
 */
export async function startTracing(env: Environment, log: Log, version = ''): Promise<Tracing | undefined> {
  if (!wantsTracing(env)) return undefined;
  try {
    return await loadTracing(env, log, version);
  } catch (error) {
    log.error({ err: error }, 'tracing cannot start; requests are served without it');
    return undefined;
  }
}

async function loadTracing(env: Environment, log: Log, version: string): Promise<Tracing> {
  const [api, { NodeSDK }] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/sdk-node')]);
  const namesService =
    (env['OTEL_SERVICE_NAME'] ?? '') !== '' || /(?:^|,)\s*service\.name=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  const sdk = new NodeSDK({
    // Traces only: metrics are scraped, and logs go to standard output.
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
    textMapPropagator: null,
    ...(namesService ? {} : { serviceName: 'mcp-gateway' }),
  });
  api.diag.setLogger(createDiagnosticLog(log), {
    logLevel: api.DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  sdk.start();
  const tracer = api.trace.getTracer('mcp-gateway', version === '' ? undefined : version);
  const spans = new WeakMap<RequestContext, { readonly server: Span; client: Span | undefined }>();
  log.info({}, 'tracing is on');
  return {
    startRequest(context) {
      const server = tracer.startSpan(
        normaliseMethod(context.exchange.method),
        {
          kind: api.SpanKind.SERVER,
          startTime: context.startedAtMs,
          attributes: describeServerRequest(context),
        },
        readRemoteContext(api, context),
      );
      spans.set(context, { server, client: undefined });
      context.traceparent = formatSpanParent(server);
    },
    startUpstream(context) {
      const open = spans.get(context);
      if (open === undefined || open.client !== undefined) return;
      open.client = tracer.startSpan(
        normaliseMethod(context.exchange.method),
        {
          kind: api.SpanKind.CLIENT,
          startTime: readClock(context),
          attributes: { 'http.request.method': normaliseMethod(context.exchange.method) },
        },
        api.trace.setSpan(api.ROOT_CONTEXT, open.server),
      );
      context.traceparent = formatSpanParent(open.client);
    },
    finish(context) {
      const open = spans.get(context);
      if (open === undefined) return;
      spans.delete(context);
      const endTime = readClock(context);
      if (open.client !== undefined) {
        open.client.setAttributes(describeUpstreamAnswer(context));
        if (isClientError(context)) open.client.setStatus({ code: api.SpanStatusCode.ERROR });
        open.client.end(endTime);
      }
      const { server } = open;
      if (context.route !== undefined) {
        server.updateName(`${normaliseMethod(context.exchange.method)} ${context.route.httpRoute}`);
      }
      server.setAttributes(describeServerAnswer(context));
      if (context.status >= 500 || isStreamFailure(context)) server.setStatus({ code: api.SpanStatusCode.ERROR });
      server.end(endTime);
    },
    async stop(timeoutMs) {
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      });
      try {
        await Promise.race([sdk.shutdown(), timeout]);
      } catch (error) {
        log.warn({ err: error }, 'cannot export the last traces');
      } finally {
        clearTimeout(timer);
        api.trace.disable();
        api.context.disable();
        api.diag.disable();
      }
    },
  };
}

interface Api {
  readonly trace: TraceAPI;
  readonly ROOT_CONTEXT: Context;
  readonly createTraceState: typeof import('@opentelemetry/api').createTraceState;
}

/** The client's span as the parent; the root when there is none or it is invalid, which starts a new trace. */
function readRemoteContext(api: Api, context: RequestContext): Context {
  const remote = readTraceContext(context.exchange.headers);
  if (remote.kind !== 'valid') return api.ROOT_CONTEXT;
  return api.trace.setSpanContext(api.ROOT_CONTEXT, {
    traceId: remote.parent.traceId,
    spanId: remote.parent.spanId,
    traceFlags: remote.parent.flags,
    isRemote: true,
    ...(remote.tracestate === undefined ? {} : { traceState: api.createTraceState(remote.tracestate) }),
  });
}

function formatSpanParent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return formatTraceParent({ traceId, spanId, flags: traceFlags });
}

/** Known from the head alone: samplers see these. The query is left out, because credentials travel there. */
function describeServerRequest(context: RequestContext): Attributes {
  const { exchange } = context;
  const attributes: Attributes = {
    'http.request.method': normaliseMethod(exchange.method),
    'url.scheme': context.client.scheme,
    'url.path': redactText(context.path === '' ? exchange.target.replace(/[?#].*$/s, '') : context.path),
    'network.protocol.version': exchange.httpVersion,
    'client.address': context.client.address,
    'server.port': exchange.localPort,
    'mcp_gateway.request_id': context.requestId,
  };
  if (!knownMethods.has(exchange.method)) attributes['http.request.method_original'] = exchange.method.slice(0, 64);
  return attributes;
}

function describeServerAnswer(context: RequestContext): Attributes {
  const attributes: Attributes = { 'url.path': redactText(context.path), 'server.address': context.hostname };
  if (context.status > 0) attributes['http.response.status_code'] = context.status;
  if (context.route !== undefined) {
    attributes['http.route'] = context.route.httpRoute;
    attributes['mcp_gateway.rule'] = context.route.key;
  }
  if (context.listener !== undefined) attributes['mcp_gateway.listener'] = context.listener.key;
  if (context.backend !== undefined) attributes['mcp_gateway.backend'] = context.backend;
  const errorType = describeErrorType(context, 500);
  if (errorType !== undefined) attributes['error.type'] = errorType;
  return attributes;
}

function describeUpstreamAnswer(context: RequestContext): Attributes {
  const attributes: Attributes = {};
  const endpoint = /^(.*):(\d+)$/.exec(context.endpoint ?? '');
  if (endpoint !== null) {
    attributes['server.address'] = endpoint[1]!.replaceAll(/^\[|\]$/g, '');
    attributes['server.port'] = Number(endpoint[2]);
  }
  // An answer that the gateway made itself is not the upstream's status.
  if (context.upstreamMs !== undefined && context.status > 0) attributes['http.response.status_code'] = context.status;
  if (context.retries > 0) attributes['http.request.resend_count'] = context.retries;
  const errorType = describeErrorType(context, 400);
  if (errorType !== undefined) attributes['error.type'] = errorType;
  return attributes;
}

/** The gateway's reason when it has one, else the status when that is an error from this side's view. */
function describeErrorType(context: RequestContext, from: number): string | undefined {
  if (context.reason !== undefined && reasons[context.reason].status >= from) return context.reason;
  return context.status >= from ? String(context.status) : undefined;
}

function isClientError(context: RequestContext): boolean {
  return describeErrorType(context, 400) !== undefined;
}

/** The head said 200, the stream broke later. */
function isStreamFailure(context: RequestContext): boolean {
  return context.reason !== undefined && reasons[context.reason].status >= 500;
}

function normaliseMethod(method: string): string {
  return knownMethods.has(method) ? method : '_OTHER';
}

/** Wall clock by the request's own monotonic clock: spans of one request never overlap wrongly when the system's clock jumps. */
function readClock(context: RequestContext): number {
  return context.startedAtMs + (performance.now() - context.startedAt);
}

type DiagnosticLog = Record<'error' | 'warn' | 'info' | 'debug' | 'verbose', (message: string) => void>;

function ignore(): void {}

/**
 * The SDK's own troubles. Errors are mostly a collector that is away, and warnings what it could not find out about the machine: one line of each a minute
 * is enough.
 */
function createDiagnosticLog(log: Log): DiagnosticLog {
  const error = createReporter(log, 'traces are not being exported');
  const warn = createReporter(log, 'a warning of the tracing SDK');
  return { error, warn, info: ignore, debug: ignore, verbose: ignore };
}

function createReporter(log: Log, text: string): (message: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (message) => {
    const now = performance.now();
    if (now - reportedAt < reportEveryMs) return;
    reportedAt = now;
    log.warn({ detail: readDiagnostic(message) }, text);
  };
}

/** The SDK reports errors as JSON with a stack; the message is what helps. */
function readDiagnostic(message: string): string {
  try {
    const parsed: unknown = JSON.parse(message);
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed) {
      const name = 'code' in parsed ? `${String(parsed.code)} ` : '';
      return `${name}${String(parsed.message)}`.trim();
    }
  } catch {
    // Plain text then.
  }
  return message;
}
