// Connections that are read into one buffer of the process. Node makes 64 kB of memory ready for every read of a stream; here only what
// came is kept. A connection that fills the buffer gets one of its own, for as long as much comes: what is in it is not copied, and it is used again when
// nobody holds what came.
import type { OnReadOpts, Socket } from 'node:net';

const bufferBytes = 65_536;
/** Less than this is copied: a small piece would hold on to a whole buffer. */
export const largeReadBytes = 16_384;

const shared = Buffer.allocUnsafeSlow(bufferBytes);
const ownBuffer = Symbol('own buffer');

interface ReadSocket extends Socket {
  [ownBuffer]?: Buffer | undefined;
}

/** What Node reads into next; undefined: as before. It asks for it when a socket is made, and after each call back. */
let next: Buffer | undefined = shared;
let released: Uint8Array | undefined;

/** Nobody holds these bytes any more. Only for whom they were handed to, and before it returns. */
export function releaseRead(bytes: Uint8Array): void {
  released = bytes;
}

/** The `onread` option of a socket. `receive` gets bytes that it may keep. */
export function readIntoSharedBuffer(receive: (this: Socket, bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: takeNext as () => Uint8Array,
    callback(this: ReadSocket, length) {
      const own = this[ownBuffer];
      let isHeld = true;
      if (own !== undefined && length >= largeReadBytes) {
        const bytes = own.subarray(0, length);
        released = undefined;
        receive.call(this, bytes);
        isHeld = released !== bytes;
        released = undefined;
      } else {
        const bytes = Buffer.allocUnsafe(length);
        (own ?? shared).copy(bytes, 0, 0, length);
        receive.call(this, bytes);
      }
      if (length === bufferBytes) {
        next = isHeld ? (this[ownBuffer] = Buffer.allocUnsafeSlow(bufferBytes)) : undefined;
      } else {
        // There was no more: a connection that rests holds no buffer.
        this[ownBuffer] = undefined;
        next = own === undefined ? undefined : shared;
      }
      return true;
    },
  };
}

function takeNext(): Buffer | undefined {
  const buffer = next;
  // For the next socket that is made.
  next = shared;
  return buffer;
}
