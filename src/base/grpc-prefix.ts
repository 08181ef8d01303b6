// The prefix of every message of a gRPC stream: one byte for compression, four for the length.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md (Length-Prefixed-Message)

/** The bytes of a prefix. */
export const grpcPrefixBytes = 5;

/** The length that a prefix says, without the prefix. */
export function readGrpcLength(prefix: Uint8Array): number {
  return new DataView(prefix.buffer, prefix.byteOffset).getUint32(1);
}

/** The prefix of a message that is not compressed, and the message. */
export function encodeGrpcMessage(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(grpcPrefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, grpcPrefixBytes);
  return frame;
}
