// Where the run is: one line that changes on a terminal, lines in a log.
import type { WriteStream } from 'node:tty';

export interface Progress {
  /** Says where we are; the next one takes its place. */
  show(text: string): void;
  /** Says something that stays. */
  readonly say: (text: string) => void;
  /** Leaves the line. */
  end(): void;
}

/** The time since the start goes in front. */
export function createProgress(stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>): Progress {
  const begun = Date.now();
  const clear = '\r\u001b[K';
  const stamp = (): string => {
    const seconds = Math.floor((Date.now() - begun) / 1_000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  };
  return {
    show(text) {
      const line = `${stamp()} ${text}`;
      if (stream.isTTY) stream.write(`${clear}${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
      else stream.write(`${line}\n`);
    },
    say: (text) => void stream.write(stream.isTTY ? `${clear}${text}\n` : `${text}\n`),
    end() {
      if (stream.isTTY) stream.write(clear);
    },
  };
}
