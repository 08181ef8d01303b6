// Messages of a gRPC stream on the wire. Each has a prefix: one byte for compression, four for the length.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md (Length-Prefixed-Message)

import { GrowingBytes } from './growing-bytes.ts';

/** The bytes of a prefix. */
export const grpcPrefixBytes = 5;

/** The prefix of a message that is not compressed, and the message. */
export function encodeGrpcMessage(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(grpcPrefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, grpcPrefixBytes);
  return frame;
}

const nothing = new Uint8Array(0);

/** Cuts what arrives into messages. A piece with whole messages is not copied; pieces of one are joined, so that a sender of single bytes costs no more. */
export class GrpcFrameReader {
  readonly #announce: (length: number, isCompressed: boolean) => void;
  /** Pieces of an incomplete message; empty while there is a chunk. */
  readonly #pending = new GrowingBytes();
  #chunk: Uint8Array = nothing;
  /** The bytes of the next message with its prefix; undefined: its prefix is not complete. */
  #size: number | undefined;

  /** `announce` is told the length of each message, without its prefix, before the message has arrived. It may throw: `take` does so then. */
  constructor(announce: (length: number, isCompressed: boolean) => void) {
    this.#announce = announce;
  }

  push(piece: Uint8Array): void {
    if (this.#chunk.length === 0 && this.#pending.size === 0) {
      this.#chunk = piece;
    } else {
      this.#keepChunk();
      this.#pending.append(piece);
    }
  }

  /** The next complete message, with its prefix. */
  take(): Uint8Array | undefined {
    for (;;) {
      const needed = this.#size ?? grpcPrefixBytes;
      if (this.#pending.size >= needed) this.#chunk = this.#pending.take();
      const chunk = this.#chunk;
      if (chunk.length < needed) {
        this.#keepChunk();
        return undefined;
      }
      if (this.#size !== undefined) {
        this.#size = undefined;
        this.#chunk = chunk.subarray(needed);
        return chunk.subarray(0, needed);
      }
      const length = new DataView(chunk.buffer, chunk.byteOffset).getUint32(1);
      this.#announce(length, chunk[0] !== 0);
      this.#size = grpcPrefixBytes + length;
    }
  }

  /** Returns the beginning of an incomplete message, and forgets it. */
  takeRest(): Uint8Array {
    this.#keepChunk();
    return this.#pending.take();
  }

  #keepChunk(): void {
    if (this.#chunk.length === 0) return;
    this.#pending.append(this.#chunk);
    this.#chunk = nothing;
  }
}
