// What a call to a federation is made of.
import type { Log } from '../../../../base/log.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import type { UpstreamEvents } from '../../../forward/upstream/upstream-call.ts';
import type { RawHeaders } from '../../../http/exchange.ts';
import type { RequestContext } from '../../../request/request-context.ts';
import type { Federations } from '../federations.ts';

export interface FederatedCallParts {
  readonly federations: Federations;
  /** Key of the backend. */
  readonly backend: string;
  /** By which the request was judged. */
  readonly config: FederationConfig;
  readonly context: RequestContext;
  readonly method: string;
  /** As they would go upstream. */
  readonly headers: RawHeaders;
  readonly host: string;
  readonly events: UpstreamEvents;
  readonly log: Log;
}
