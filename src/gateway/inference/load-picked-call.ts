// Loads the code for calls to InferencePools when the first call is made.
import type { UpstreamCall } from '../forward/upstream/upstream-call.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { PickedCallParts } from './picked-call-parts.ts';

type PickedCallModule = typeof import('./picked-call.ts');

let loaded: PickedCallModule | undefined;

/** A call to whichever endpoint of a pool its picker chooses. */
export function createPickedCall(parts: PickedCallParts): UpstreamCall {
  return loaded === undefined ? new AwaitedCall(parts) : new loaded.PickedCall(parts);
}

/** Stands in until the code is loaded. A call gets no writes before it has started. */
class AwaitedCall implements UpstreamCall {
  readonly #parts: PickedCallParts;
  #call: UpstreamCall | undefined;
  #isAborted = false;

  constructor(parts: PickedCallParts) {
    this.#parts = parts;
  }

  start(): void {
    import('./picked-call.ts').then(
      (module) => {
        loaded = module;
        if (this.#isAborted) return;
        this.#call = new module.PickedCall(this.#parts);
        this.#call.start();
      },
      (error: unknown) => this.#parts.events.onError(error instanceof Error ? error : new Error(String(error))),
    );
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#call!.writeBody(chunk);
  }

  endBody(trailers: RawHeaders): void {
    this.#call!.endBody(trailers);
  }

  resume(): void {
    this.#call?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#call?.abort();
  }
}
