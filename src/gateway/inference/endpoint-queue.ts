// What waits to be sent to the endpoint.
import type { UpstreamCall } from '../forward/upstream/upstream-call.ts';

/** Pieces of one body, in order. */
export class EndpointQueue {
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isFull = false;

  /** How many bytes wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The endpoint takes no more at the moment. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Nothing waits, and more would be taken. */
  get hasRoom(): boolean {
    return this.#pieces.length === 0 && !this.#isFull;
  }

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  /** These and no others. */
  replace(pieces: readonly Uint8Array[]): void {
    this.#pieces = [...pieces];
    this.#bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  /** The endpoint takes more again. */
  noteDrain(): void {
    this.#isFull = false;
  }

  /** Sends as much as the endpoint takes. */
  sendTo(call: UpstreamCall): void {
    let sent = 0;
    while (sent < this.#pieces.length && !this.#isFull) {
      const piece = this.#pieces[sent]!;
      sent += 1;
      this.#bytes -= piece.length;
      this.#isFull = !call.writeBody(piece);
    }
    this.#pieces.splice(0, sent);
  }
}
