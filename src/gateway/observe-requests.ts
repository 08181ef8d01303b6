// Who watches requests: traces, metrics and the access log, as observers of the request path.
import type { AccessLog } from './access-log.ts';
import type { RequestObserver } from './handle-request.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { Tracing } from './tracing.ts';

export interface Observability {
  readonly metrics: RequestMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly tracing: Tracing | undefined;
}

/** The observers in the order in which they are told. Traces come first: the access log shows the trace id. */
export function createObservers({ metrics, accessLog, tracing }: Observability): RequestObserver[] {
  const observers: RequestObserver[] = [];
  if (tracing !== undefined) {
    observers.push({
      start: (context) => tracing.startRequest(context),
      startUpstream: (context) => tracing.startUpstream(context),
      finish: (context) => tracing.finish(context),
    });
  }
  observers.push(metrics);
  if (accessLog !== undefined) observers.push({ start: () => {}, finish: accessLog });
  return observers;
}
