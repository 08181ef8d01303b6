// Loads the code for calls to federations when the first call is made.
import type { UpstreamCall } from '../../../forward/upstream/upstream-call.ts';
import type { ReadBody } from '../../read/parse-message.ts';
import type { FederatedCallParts } from './federated-call-parts.ts';

type FederatedCallModule = typeof import('./federated-call.ts');

let loaded: FederatedCallModule | undefined;

/** A call to whichever servers of a federation the messages of the request concern. `read`: what the client posted; undefined: a GET or a DELETE. */
export function createFederatedCall(parts: FederatedCallParts, read: ReadBody | undefined): UpstreamCall {
  return loaded === undefined ? new AwaitedCall(parts, read) : new loaded.FederatedCall(parts, read);
}

/** Stands in until the code is loaded. */
class AwaitedCall implements UpstreamCall {
  readonly #parts: FederatedCallParts;
  #read: ReadBody | undefined;
  #call: UpstreamCall | undefined;
  #isAborted = false;

  constructor(parts: FederatedCallParts, read: ReadBody | undefined) {
    this.#parts = parts;
    this.#read = read;
  }

  start(): void {
    import('./federated-call.ts').then(
      (module) => {
        loaded = module;
        if (this.#isAborted) return;
        this.#call = new module.FederatedCall(this.#parts, this.#read);
        this.#read = undefined;
        this.#call.start();
      },
      (error: unknown) => this.#parts.events.onError(error instanceof Error ? error : new Error(String(error))),
    );
  }

  writeBody(chunk: Uint8Array): boolean {
    return this.#call!.writeBody(chunk);
  }

  endBody(): void {
    this.#call!.endBody([]);
  }

  resume(): void {
    this.#call?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#call?.abort();
  }
}
