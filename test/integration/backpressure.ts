// Backpressure: writers that write as fast as they may, and the moment at which a reader that does not read has stopped them.

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
