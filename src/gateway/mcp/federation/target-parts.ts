// What the files behind the seam to a target share: the target, its connections, a clock, and a log.
import type { Log } from '../../../base/log.ts';
import type { FederationTarget } from '../../config/federation-config.ts';
import type { UpstreamBackend } from '../../forward/upstream/upstreams.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { MessageChannels } from './message-source.ts';
import type { TargetFailure } from './target.ts';

export interface TargetParts {
  readonly config: FederationTarget;
  /** The connections under `formatTargetKey`; undefined while the configuration does not have them. */
  readonly findBackend: () => UpstreamBackend | undefined;
  readonly log: Log;
  /** Told of every exchange: whether the target answered, or could not be reached. */
  readonly health?: { noteUp(): void; noteDown(detail: string): void };
  /** Set where the target speaks the older transport. */
  readonly channels?: MessageChannels | undefined;
  /** How often a request is tried again at another endpoint because it never reached the one before. Default 2. */
  readonly maxRetries?: number;
  /** What a server has to say who it is, beyond the time for a connection. Default 5 s. */
  readonly introductionMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly clock?: () => number;
  /** Numbers in [0, 1). */
  readonly random?: () => number;
}

/** In whose name a request is sent. */
export interface Sender {
  /** Without those that requests to targets have of their own (`splitHeaders`). */
  readonly headers: RawHeaders;
  /** Empty: the name of the endpoint. */
  readonly host: string;
}

const noHeaders: RawHeaders = [];

/** A failure without an HTTP answer. */
export function fail(kind: TargetFailure['kind'], detail: string): TargetFailure {
  return { kind, status: undefined, headers: noHeaders, detail };
}
