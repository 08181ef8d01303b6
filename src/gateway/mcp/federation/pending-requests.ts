// Which target has been asked under which id: a client of 2025-11-25 and before cancels a request by its id, with a request of its own.

const maxPending = 100_000;

/** The requests that wait for an answer, by the session of the client and their id. */
export class PendingRequests {
  readonly #targets = new Map<string, { readonly target: string }>();

  /** Notes a request; call the result when it is over. */
  add(session: string, id: string, target: string): () => void {
    const key = `${session}\n${id}`;
    // The rest of a call may be on its way to the client before its first stream is known to be gone.
    const pending = { target };
    if (this.#targets.size < maxPending) this.#targets.set(key, pending);
    return () => void (this.#targets.get(key) === pending && this.#targets.delete(key));
  }

  /** The target; undefined: the request is not known here. */
  find(session: string, id: string): string | undefined {
    return this.#targets.get(`${session}\n${id}`)?.target;
  }
}
