// Whoever does not read must stop whoever writes: writers that write as fast as they may, and the moment at which nothing moves any more.
import { setTimeout as delay } from 'node:timers/promises';

interface PumpTarget {
  readonly destroyed?: boolean;
  write(chunk: Buffer): boolean;
  once(event: 'drain', listener: () => void): unknown;
  end(): unknown;
}

const chunk = Buffer.alloc(64 * 1024, 'x');

/** Writes so many bytes as fast as the reader takes them; tells how far it is. */
export function pump(target: PumpTarget, total: number): { readonly written: number } {
  const state = { written: 0 };
  const go = (): void => {
    while (state.written < total && target.destroyed !== true) {
      state.written += chunk.length;
      if (!target.write(chunk)) {
        target.once('drain', go);
        return;
      }
    }
    target.end();
  };
  go();
  return state;
}

/** Until nothing has moved for a while: all buffers are full. A late move only makes the test stricter. */
export async function waitForStandstill(read: () => number): Promise<void> {
  for (let last = -1, quiet = 0; quiet < 5;) {
    await delay(100);
    quiet = read() === last ? quiet + 1 : 0;
    last = read();
  }
}
