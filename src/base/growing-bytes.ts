// Joins bytes that arrive in chunks. A list of chunks would cost far more memory than their bytes: a sender can send byte by byte, and each chunk is an
// object that may keep its whole receive buffer alive.

const nothing = new Uint8Array(0);

/** Chunks up to this size are always copied. */
const smallPiece = 1_024;

/** Small single chunks share an allocation: a separate one would cost more than all other work on them. */
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

  /** Capacity never grows beyond `maxBytes` in advance. `expectedBytes`: the announced length. */
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

  /** The first chunk is usually the only one: it is kept without a copy, unless it keeps a larger buffer alive. */
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

  /** Returns all bytes and forgets them. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#size);
    this.#bytes = nothing;
    this.#size = 0;
    return taken;
  }
}
