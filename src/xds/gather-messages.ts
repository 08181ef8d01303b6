// Cuts the body of a gRPC call into its messages (gRPC over HTTP/2, Length-Prefixed-Message). connect does so too, but it makes room for a message as
// soon as five bytes announce it, and counts all pieces again for each one that arrives: a peer that sends byte by byte would cost far more than it pays.
import { Code, ConnectError } from '@connectrpc/connect';
import { GrpcFrameReader, grpcPrefixBytes } from '../base/grpc-frames.ts';

/** Yields each message with its prefix as one piece. `announce` is told the size of each before room is made for it, and may throw. */
export async function* gatherMessages(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  announce: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const reader = new GrpcFrameReader((length) => {
    if (length > maxBytes)
      throw new ConnectError(`a message may have at most ${maxBytes} bytes, not ${length}`, Code.ResourceExhausted);
    announce(grpcPrefixBytes + length);
  });
  for await (const piece of body) {
    reader.push(piece);
    for (let message = reader.take(); message !== undefined; message = reader.take()) yield message;
  }
  // An incomplete message: connect has the words for it.
  const rest = reader.takeRest();
  if (rest.length > 0) yield rest;
}
