// Watches requests from outside the request path: access log, metrics, traces, journals.
import type { RequestContext } from './request-context.ts';

/** Is called when requests start and finish. */
export interface RequestObserver {
  start(context: RequestContext): void;
  /** The request is about to go to a backend. */
  startUpstream?(context: RequestContext): void;
  finish(context: RequestContext, clean: boolean, bytesSent: number, bytesReceived: number): void;
}
