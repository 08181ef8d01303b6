// Reads connections into one buffer of the process. Node allocates 64 kB for every read of a stream; here only the received
// bytes are kept. A connection that fills the buffer gets its own one while large reads continue: its bytes are not copied, and it is reused when
// they are released.
import type { OnReadOpts, Socket } from 'node:net';

const bufferBytes = 65_536;
/** Less than this is copied: a small piece would hold on to a whole buffer. */
export const largeReadBytes = 16_384;

const shared = Buffer.allocUnsafeSlow(bufferBytes);
const ownBuffer = Symbol('own buffer');

interface ReadSocket extends Socket {
  [ownBuffer]?: Buffer | undefined;
}

/** The buffer for Node's next read; undefined: the same as before. Node asks for it when a socket is made, and after each callback. */
let next: Buffer | undefined = shared;
let released: Uint8Array | undefined;

/** Releases received bytes for reuse. Only the receiver may call this, and only before it returns. */
export function releaseRead(bytes: Uint8Array): void {
  released = bytes;
}

/** The `onread` option of a socket. `receive` may keep the bytes that it gets. */
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
        // No more bytes came: an idle connection holds no buffer.
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
