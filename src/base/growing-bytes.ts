// Bytes that come in pieces and are needed in one. Collected pieces would cost far more than they hold: a sender can send byte by byte, and
// each piece is an object that may keep all that it was received in.

const nothing = new Uint8Array(0);

/** Up to here a piece is copied, whatever it is. */
const smallPiece = 1_024;

/** Small texts that come in one piece are parts of a common allocation: one of their own costs more than all else that is done with them. */
const slabSize = 8_192;
let slab: Uint8Array = nothing;
let slabUsed = slabSize;

function copySmall(piece: Uint8Array): Uint8Array {
  if (slabUsed + piece.length > slabSize) {
    slab = new Uint8Array(slabSize);
    slabUsed = 0;
  }
  const copy = slab.subarray(slabUsed, slabUsed + piece.length);
  copy.set(piece);
  slabUsed += piece.length;
  return copy;
}

/** One text of bytes that grows. */
export class GrowingBytes {
  readonly #maxBytes: number;
  readonly #expectedBytes: number | undefined;
  #bytes: Uint8Array = nothing;
  #size = 0;

  /** More than `maxBytes` will hardly come: no room is made for it in advance. `expectedBytes`: so many were announced. */
  constructor(maxBytes = Infinity, expectedBytes?: number) {
    this.#maxBytes = maxBytes;
    this.#expectedBytes = expectedBytes;
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
    } else if (this.#size === 0 && piece.length === this.#expectedBytes && piece.length <= smallPiece) {
      this.#bytes = copySmall(piece);
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
