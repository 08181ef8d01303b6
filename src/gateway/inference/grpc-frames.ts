// Cuts the answers of a gRPC server into messages, without compression.
import { grpcPrefixBytes, readGrpcLength } from '../../base/grpc-prefix.ts';

/** The peer does not speak gRPC as it was asked to. */
export class GrpcFrameError extends Error {
  readonly code = 'GRPC_FRAME';
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
    if (this.#size < grpcPrefixBytes) return undefined;
    const prefix = this.#peek(grpcPrefixBytes);
    if (prefix[0] !== 0) throw new GrpcFrameError('a message is compressed, but the gateway did not offer compression');
    const length = readGrpcLength(prefix);
    if (length > this.#maxBytes)
      throw new GrpcFrameError(`a message of ${length} bytes is larger than ${this.#maxBytes}`);
    if (this.#size < grpcPrefixBytes + length) return undefined;
    const frame = this.#peek(grpcPrefixBytes + length);
    this.#drop(grpcPrefixBytes + length);
    return frame.subarray(grpcPrefixBytes);
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
