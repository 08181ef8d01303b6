// How the servers of a federation are, as plain data: workers send it to the process that has the admin pages.
import type { ContestedName } from './owners.ts';
import type { TargetState } from './target.ts';

/** The targets of one federation, as they are. */
export interface FederationState {
  /** Key of the backend. */
  readonly backend: string;
  readonly targets: readonly TargetState[];
  /** Names that several targets claim, and that none of them serves. */
  readonly contested: readonly ContestedName[];
}
