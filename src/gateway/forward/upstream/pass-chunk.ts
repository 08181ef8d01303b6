// Passes pieces of bodies on unchanged. If the other side's socket took a whole piece at once, and nothing else refers to it, its read buffer
// is released for reuse.
import { largeReadBytes, releaseRead } from '../../../http1/shared-read-buffer.ts';

/** Where bodies go. */
interface Target {
  readonly hasSentAll?: boolean | undefined;
}

/** After a piece was written there, and nowhere else. */
function releasePassed(chunk: Uint8Array, target: Target): void {
  if (chunk.length >= largeReadBytes && target.hasSentAll === true) releaseRead(chunk);
}

/** A piece of an answer. False: wait. */
export function passToClient(chunk: Uint8Array, client: Target & { write(chunk: Uint8Array): boolean }): boolean {
  const hasRoom = client.write(chunk);
  releasePassed(chunk, client);
  return hasRoom;
}

/** A piece of a request. False: wait. */
export function passToUpstream(chunk: Uint8Array, call: Target & { writeBody(chunk: Uint8Array): boolean }): boolean {
  const hasRoom = call.writeBody(chunk);
  releasePassed(chunk, call);
  return hasRoom;
}
