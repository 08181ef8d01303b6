// Connections that are read into one buffer of the process. Node makes 64 kB of memory ready for every read of a stream; here only what
// came is kept.
import type { OnReadOpts, Socket } from 'node:net';

const buffer = Buffer.allocUnsafeSlow(65_536);

/** The `onread` option of a socket. `receive` gets bytes that it may keep. */
export function readIntoSharedBuffer(receive: (this: Socket, bytes: Buffer) => void): OnReadOpts {
  return {
    buffer,
    callback(this: Socket, length) {
      const bytes = Buffer.allocUnsafe(length);
      buffer.copy(bytes, 0, 0, length);
      receive.call(this, bytes);
      return true;
    },
  };
}
