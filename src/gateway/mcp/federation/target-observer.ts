// What is told about requests to the servers of federations.
import type { FederationState } from './federation-state.ts';
import type { TargetFailure } from './target.ts';

/** How a request ended. `answered`: the server answered, also with an error of its own. `aborted`: nobody wanted the answer any more. */
export type TargetResult = 'answered' | 'aborted' | TargetFailure['kind'];

/** Hooks; every one is cheap and none throws. */
export interface TargetObserver {
  /** There are federations; `read` tells how their servers are. */
  watch(read: () => readonly FederationState[]): void;
  /** For one server; kept as long as the server is. */
  observe(backend: string, target: string): (result: TargetResult, seconds: number) => void;
}

/** Tells nobody. */
export const silentTargetObserver: TargetObserver = {
  watch() {},
  observe: () => () => {},
};
