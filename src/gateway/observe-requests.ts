// Who watches requests: traces, metrics, the access log, the flow inspector and the request journal, as observers of the request path.
import type { AccessLog } from './access-log.ts';
import type { FlowInspector } from './flow-inspector.ts';
import type { RequestObserver } from './handle-request.ts';
import type { RequestJournal } from './request-journal.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { Tracing } from './tracing.ts';

export interface Observability {
  readonly metrics: RequestMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly tracing: Tracing | undefined;
  /** Keeps the last flows of login for the admin pages. */
  readonly flows?: FlowInspector | undefined;
  /** Keeps the last requests that policies judged, for the admin pages. */
  readonly journal?: RequestJournal | undefined;
}

/** The observers in the order in which they are told. Traces come first: the access log shows the trace id. */
export function createObservers({ metrics, accessLog, tracing, flows, journal }: Observability): RequestObserver[] {
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
  if (flows !== undefined) observers.push(flows);
  if (journal !== undefined) observers.push(journal);
  return observers;
}
