// Calls between two processes over the channel that Node gives to a child: by name, in order, with or without an answer.

type Payload<F> = F extends (payload: infer P) => unknown ? P : never;
type Answer<F> = F extends (payload: never) => infer R ? Awaited<R> : never;

/** One end of the channel. */
interface ChannelEnd {
  /** Hands a message over. Throws when the other process is gone. */
  send(message: unknown): void;
}

/** The other process is gone, or failed to answer. */
export class CallError extends Error {
  readonly code = 'worker_call';
}

type Wire =
  | { readonly kind: 'call'; readonly name: string; readonly id: number | undefined; readonly payload: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string };

/** Calls what the other side offers, and answers for this one. */
export class CallChannel<Theirs extends object, Ours extends object> {
  readonly #end: ChannelEnd;
  readonly #offered: Ours;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #isClosed = false;

  constructor(end: ChannelEnd, offered: Ours) {
    this.#end = end;
    this.#offered = offered;
  }

  /** Sends a message that needs no answer; dropped when the other process is gone. */
  tell<N extends keyof Theirs & string>(name: N, payload: Payload<Theirs[N]>): void {
    this.#send({ kind: 'call', name, id: undefined, payload });
  }

  /** Asks. Rejects with a CallError when there will be no answer. */
  ask<N extends keyof Theirs & string>(name: N, payload: Payload<Theirs[N]>): Promise<Answer<Theirs[N]>> {
    const answer = Promise.withResolvers<unknown>();
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#send({ kind: 'call', name, id, payload })) this.#waiting.set(id, answer);
    else answer.reject(new CallError('the other process is gone'));
    return answer.promise as Promise<Answer<Theirs[N]>>;
  }

  /** A message of the other side has arrived. */
  receive(message: unknown): void {
    const wire = message as Wire;
    if (wire.kind === 'call') {
      this.#serve(wire);
      return;
    }
    const waiting = this.#waiting.get(wire.id);
    this.#waiting.delete(wire.id);
    if (wire.kind === 'answer') waiting?.resolve(wire.value);
    else waiting?.reject(new CallError(wire.message));
  }

  /** The other process is gone. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting.values()) waiting.reject(new CallError('the other process is gone'));
    this.#waiting.clear();
  }

  #serve({ name, id, payload }: Extract<Wire, { readonly kind: 'call' }>): void {
    const offered = this.#offered as Record<string, ((payload: unknown) => unknown) | undefined>;
    // At once, not in a later turn, so that messages keep their order.
    const outcome = attempt(() => offered[name]!(payload));
    if (id === undefined) {
      // No caller waits for the error, and an uncaught error would crash the process.
      void outcome.catch(() => {});
      return;
    }
    outcome.then(
      (value) => this.#send({ kind: 'answer', id, value }),
      (error: unknown) => this.#send({ kind: 'failure', id, message: String(error) }),
    );
  }

  #send(message: Wire): boolean {
    if (this.#isClosed) return false;
    try {
      this.#end.send(message);
      return true;
    } catch {
      return false;
    }
  }
}

// An async function runs at once up to its first await, and turns what it throws into a rejection.
// eslint-disable-next-line @typescript-eslint/require-await
async function attempt(run: () => unknown): Promise<unknown> {
  return run();
}
