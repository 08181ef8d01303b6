// What a call to an InferencePool is made of.
import type { PickerConfig } from '../config/server-config.ts';
import type { UpstreamEvents, UpstreamRequest } from '../forward/upstream/upstream-call.ts';
import type { Endpoint, UpstreamBackend } from '../forward/upstream/upstreams.ts';
import type { PickObserver } from './pick-observer.ts';

export interface PickedCallParts {
  readonly pool: UpstreamBackend;
  /** The pool as it is now; undefined: it is gone. */
  readonly findPool: () => UpstreamBackend | undefined;
  /** The picker's own endpoints; undefined: there are none. */
  readonly picker: UpstreamBackend | undefined;
  readonly config: PickerConfig;
  readonly request: UpstreamRequest;
  readonly events: UpstreamEvents;
  /** How often something is tried again elsewhere because it cannot be reached. */
  readonly maxRetries: number;
  readonly observer: PickObserver;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
  /** Told which endpoint is tried. */
  readonly onEndpoint: (endpoint: Endpoint) => void;
  /** Told what is wrong with the picker where the request goes on all the same. */
  readonly onTrouble: (detail: string) => void;
}
