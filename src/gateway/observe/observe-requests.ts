// The observers of the request path: traces, metrics, the access log, the flow inspector, the request journal and the live page.
import type { AccessLog } from './access-log.ts';
import type { LiveRequests } from './live-requests.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { RequestJournal } from './request-journal.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { Tracing } from './tracing.ts';

export interface Observability {
  readonly metrics: RequestMetrics;
  readonly accessLog: AccessLog | undefined;
  readonly tracing: Tracing | undefined;
  /** Keeps the last flows of login for the admin pages. */
  readonly flows?: RequestObserver | undefined;
  /** Keeps the last requests that policies judged, for the admin pages. */
  readonly journal?: RequestJournal | undefined;
  /** Shows requests to the people who watch the live page. */
  readonly live?: Pick<LiveRequests, 'start' | 'finish'> | undefined;
}

/** The observers as one, told in this order. Traces come first: the access log shows the trace id. */
export function createObservers({
  metrics,
  accessLog,
  tracing,
  flows,
  journal,
  live,
}: Observability): RequestObserver[] {
  return [
    {
      start(context) {
        tracing?.startRequest(context);
        metrics.start(context);
        flows?.start(context);
        journal?.start(context);
        live?.start(context);
      },
      ...(tracing !== undefined && { startUpstream: (context) => tracing.startUpstream(context) }),
      finish(context, clean, bytesSent, bytesReceived) {
        tracing?.finish(context);
        metrics.finish(context, clean, bytesSent, bytesReceived);
        accessLog?.(context, clean, bytesSent, bytesReceived);
        flows?.finish(context, clean, bytesSent, bytesReceived);
        journal?.finish(context, clean, bytesSent, bytesReceived);
        live?.finish(context);
      },
    },
  ];
}
