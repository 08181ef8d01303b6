// Cuts the body of a gRPC call into its messages (gRPC over HTTP/2, Length-Prefixed-Message). connect does so too, but it makes room for a message as
// soon as five bytes announce it, and counts all pieces again for each one that arrives: a peer that sends byte by byte would cost far more than it pays.
import { Code, ConnectError } from '@connectrpc/connect';
import { grpcPrefixBytes, readGrpcLength } from '../base/grpc-prefix.ts';
import { GrowingBytes } from '../base/growing-bytes.ts';

/** Yields each message with its prefix as one piece. `announce` is told the size of each before room is made for it, and may throw. */
export async function* gatherMessages(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  announce: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const pending = new GrowingBytes();
  /** Of the message that is being gathered, with its prefix; undefined: its prefix is not complete. */
  let size: number | undefined;
  for await (const piece of body) {
    pending.append(piece);
    if (pending.size < (size ?? grpcPrefixBytes)) continue;
    let bytes = pending.take();
    while (bytes.length >= (size ?? grpcPrefixBytes)) {
      if (size === undefined) {
        size = readSize(bytes, maxBytes);
        announce(size);
      } else {
        yield bytes.subarray(0, size);
        bytes = bytes.subarray(size);
        size = undefined;
      }
    }
    if (bytes.length > 0) pending.append(bytes);
  }
  // An incomplete message: connect has the words for it.
  if (pending.size > 0) yield pending.take();
}

function readSize(bytes: Uint8Array, maxBytes: number): number {
  const length = readGrpcLength(bytes);
  if (length <= maxBytes) return grpcPrefixBytes + length;
  throw new ConnectError(`a message may have at most ${maxBytes} bytes, not ${length}`, Code.ResourceExhausted);
}
