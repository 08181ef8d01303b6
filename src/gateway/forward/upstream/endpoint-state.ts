// The health of endpoints as plain data, for the admin pages: workers send theirs to the process that has these.

/** One endpoint of a backend, as one process or all of them see it. */
export interface EndpointState {
  /** Key of the backend. */
  readonly backend: string;
  /** host:port. */
  readonly endpoint: string;
  /** Failures have set it aside, and no connection has succeeded since. */
  readonly isEjected: boolean;
  /** Requests in flight and in line. */
  readonly outstanding: number;
  /** The newest attempt to connect that failed; null when none did. */
  readonly lastFailure: { readonly atMs: number; readonly message: string } | null;
}

/** The states that several processes report, as one: ejected by any of them, and the newest failure. */
export function mergeEndpointStates(lists: readonly (readonly EndpointState[])[]): readonly EndpointState[] {
  const merged = new Map<string, EndpointState>();
  for (const state of lists.flat()) {
    const key = JSON.stringify([state.backend, state.endpoint]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? state : join(known, state));
  }
  return [...merged.values()];
}

function join(left: EndpointState, right: EndpointState): EndpointState {
  const isLeftNewer = (left.lastFailure?.atMs ?? 0) >= (right.lastFailure?.atMs ?? 0);
  return {
    ...left,
    isEjected: left.isEjected || right.isEjected,
    outstanding: left.outstanding + right.outstanding,
    lastFailure: isLeftNewer ? left.lastFailure : right.lastFailure,
  };
}
