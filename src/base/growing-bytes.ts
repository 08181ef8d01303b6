// Bytes that come in pieces and are needed in one. Collected pieces would cost far more than they hold: a sender can send byte by byte, and
// each piece is an object that may keep all that it was received in.

const nothing = new Uint8Array(0);

/** Up to here a piece is copied, whatever it is. */
const smallPiece = 1_024;

/** One text of bytes that grows. */
export class GrowingBytes {
  readonly #maxBytes: number;
  #bytes: Uint8Array = nothing;
  #size = 0;

  /** More than `maxBytes` will hardly come: no room is made for it in advance. */
  constructor(maxBytes = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes there are. */
  get size(): number {
    return this.#size;
  }

  /** How many bytes of memory it takes with a piece of this length after those that are there. */
  measure(pieceLength: number): number {
    const needed = this.#size + pieceLength;
    if (needed <= this.#bytes.length) return this.#bytes.length;
    return Math.min(Math.max(needed, 2 * this.#bytes.length, smallPiece), Math.max(needed, this.#maxBytes));
  }

  /** Mostly the first piece is all: then it is kept as it is, unless it keeps more alive than itself. */
  append(piece: Uint8Array): void {
    if (this.#size === 0 && piece.length > smallPiece && piece.buffer.byteLength <= 2 * piece.length) {
      this.#bytes = piece;
    } else {
      const room = this.measure(piece.length);
      if (room > this.#bytes.length) {
        const grown = new Uint8Array(room);
        grown.set(this.#bytes.subarray(0, this.#size));
        this.#bytes = grown;
      }
      this.#bytes.set(piece, this.#size);
    }
    this.#size += piece.length;
  }

  /** All of them, which are kept here no longer. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#size);
    this.#bytes = nothing;
    this.#size = 0;
    return taken;
  }
}
