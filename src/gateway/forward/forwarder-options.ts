// What the forwarder needs from the rest of the gateway.
import type { Log } from '../../base/log.ts';
import type { PickObserver } from '../inference/pick-observer.ts';
import type { Federations } from '../mcp/federation/federations.ts';
import type { NotificationStreams } from '../mcp/streams/list-changed.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { AnonymousRequests } from './anonymous-requests.ts';
import type { Upstreams } from './upstream/upstreams.ts';

export interface ForwarderOptions {
  readonly upstreams: Upstreams;
  readonly log: Log;
  /** Milliseconds of the clock of RequestContext.startedAt. */
  readonly clock?: () => number;
  /** Signs the message URLs of legacy SSE servers (legacy-sse.ts). Replicas behind one address need the same; by default each process makes its own. */
  readonly legacySseKey?: Uint8Array;
  /** A streamed answer begins; the result is called once, when it ends. */
  readonly onStream?: (context: RequestContext) => () => void;
  /** Gets to know the streams on which MCP servers send notifications. */
  readonly streams?: NotificationStreams;
  /** Gets to know the requests that no token identifies, and ends them when a configuration closes what they passed. */
  readonly anonymous?: AnonymousRequests;
  /** The federations of this process; undefined: none is served. */
  readonly federations?: Federations;
  /** Watches endpoint pickers. */
  readonly picks?: PickObserver;
}

/** With everything filled in. */
export type ForwarderSettings = Required<Omit<ForwarderOptions, 'streams' | 'anonymous' | 'federations'>> & {
  readonly federations: Federations | undefined;
  readonly streams: NotificationStreams | undefined;
  readonly anonymous: AnonymousRequests | undefined;
};
