// Messages of a gRPC stream: each is a byte that says whether it is compressed, four for its length, and itself.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

/** The peer does not speak gRPC as it was asked to. */
export class GrpcFrameError extends Error {
  readonly code = 'GRPC_FRAME';
}

const prefixBytes = 5;

/** A message as it goes over the wire. */
export function encodeFrame(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}

/** Cuts what arrives into messages. */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** Whether some of a message is there. */
  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The next message that is complete. Throws a GrpcFrameError. */
  take(): Uint8Array | undefined {
    if (this.#size < prefixBytes) return undefined;
    const prefix = this.#peek(prefixBytes);
    if (prefix[0] !== 0) throw new GrpcFrameError('a message is compressed, which was not offered');
    const length = prefix.readUInt32BE(1);
    if (length > this.#maxBytes)
      throw new GrpcFrameError(`a message of ${length} bytes is larger than ${this.#maxBytes}`);
    if (this.#size < prefixBytes + length) return undefined;
    const frame = this.#peek(prefixBytes + length);
    this.#drop(prefixBytes + length);
    return frame.subarray(prefixBytes);
  }

  /** The first bytes in one piece; several chunks become one on the way. */
  #peek(count: number): Buffer {
    const [first] = this.#chunks;
    if (first!.length < count) this.#chunks = [Buffer.concat(this.#chunks)];
    const { buffer, byteOffset } = this.#chunks[0]!;
    return Buffer.from(buffer, byteOffset, count);
  }

  #drop(count: number): void {
    const [first] = this.#chunks;
    this.#size -= count;
    if (first!.length === count) this.#chunks.shift();
    else this.#chunks[0] = first!.subarray(count);
  }
}
