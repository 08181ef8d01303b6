// Where log lines leave the process: in order, in few system calls, without waiting for a slow reader, and complete at exit.
// Not pino.destination: what its background thread is writing when the process exits can mix with the last lines, and its
// blocking flush loops forever on a closed pipe.
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

export interface LogDestination {
  readonly isTerminal: boolean;
  write(line: string): void;
  /** Resolves when everything written so far was handed over, or can no longer be. */
  flush(): Promise<void>;
  /** Hands over what waits, and waits for a slow reader for a moment. */
  flushSync(): void;
  /** Flushes, and closes what was opened here. */
  close(): void;
}

export interface LogDestinationOptions {
  /** While the reader is slow, lines wait in memory up to this many bytes; later ones are dropped. */
  readonly maxWaitingBytes?: number;
  /** Lines can pass again: how many were dropped. */
  readonly onDropped?: (count: number) => void;
}

const firstRetryMs = 1;
const lastRetryMs = 50;
/** How long exit waits for a reader that does not read. */
const exitPatienceMs = 2_000;

/** Opens a file descriptor or a file for log lines. */
export function openLogDestination(target: number | string, options: LogDestinationOptions = {}): LogDestination {
  const { fd, isOwn } = openTarget(target);
  const maxWaitingBytes = options.maxWaitingBytes ?? 16 * 1024 * 1024;
  let waiting: string[] = [];
  let waitingBytes = 0;
  /** What the last system call left over. */
  let rest: Buffer = Buffer.alloc(0);
  let dropped = 0;
  let broken = false;
  let scheduled = false;
  let retryMs = firstRetryMs;
  let waiters: (() => void)[] = [];

  /** Writes as much as fits: true when nothing is left, false when the reader is slow. */
  function writeAll(): boolean {
    while (!broken && (rest.length > 0 || waiting.length > 0)) {
      if (rest.length === 0) rest = takeWaiting();
      try {
        rest = rest.subarray(writeSync(fd, rest));
        retryMs = firstRetryMs;
      } catch (error) {
        if (isBusy(error as NodeJS.ErrnoException)) return false;
        giveUp(error as NodeJS.ErrnoException);
        return true;
      }
    }
    return true;
  }

  /** One turn in the background. */
  function writeNext(): void {
    scheduled = false;
    const before = dropped;
    if (!writeAll()) {
      scheduled = true;
      setTimeout(writeNext, retryMs);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
      return;
    }
    // Not after a failure of this very turn: a report into a full disk would fail and ask for the next report.
    if (dropped > 0 && dropped === before && !broken) {
      const count = dropped;
      dropped = 0;
      options.onDropped?.(count);
    }
    if (waiting.length > 0) return;
    const done = waiters;
    waiters = [];
    for (const resolve of done) resolve();
  }

  /** A closed pipe stays closed. Anything else, a full disk for one, loses the lines at hand and may pass. */
  function giveUp(error: NodeJS.ErrnoException): void {
    dropped += countLines(rest);
    rest = Buffer.alloc(0);
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') return;
    broken = true;
    waiting = [];
    waitingBytes = 0;
  }

  function takeWaiting(): Buffer {
    const chunk = Buffer.from(waiting.length === 1 ? waiting[0]! : waiting.join(''));
    waiting = [];
    waitingBytes = 0;
    return chunk;
  }

  function flushSync(): void {
    const deadline = Date.now() + exitPatienceMs;
    while (!writeAll() && Date.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, firstRetryMs);
    }
  }

  // Runs on a normal end, on process.exit and after an uncaught error alike.
  process.on('exit', flushSync);

  return {
    isTerminal: isatty(fd),
    write(line) {
      if (broken) return;
      if (waitingBytes + rest.length + line.length > maxWaitingBytes) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      if (scheduled) return;
      scheduled = true;
      // Once per turn of the event loop: what many requests log goes out in one call.
      setImmediate(writeNext);
    },
    flush() {
      if (broken || !scheduled) return Promise.resolve();
      return new Promise((resolve) => waiters.push(resolve));
    },
    flushSync,
    close() {
      if (broken) return;
      flushSync();
      process.off('exit', flushSync);
      if (isOwn) closeSync(fd);
      broken = true;
    },
  };
}

/**
 * A descriptor that says "busy" instead of blocking the whole gateway while its reader is slow. Linux gives a second,
 * independent way to the same pipe or terminal, so that the other processes that share ours notice nothing. A socket (systemd, a
 * parent that is a Node process) can only be switched itself, which is what the first use of process.stdout does anyway. A file
 * never says "busy"; opened a second time it would have a second position, and whoever else writes to it would overwrite the log.
 */
function openTarget(target: number | string): { readonly fd: number; readonly isOwn: boolean } {
  if (typeof target === 'string') return { fd: openSync(target, 'a', 0o640), isOwn: true };
  if (isFile(target)) return { fd: target, isOwn: false };
  if (process.platform === 'linux') {
    try {
      const { O_APPEND, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;
      return { fd: openSync(`/proc/self/fd/${target}`, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY), isOwn: true };
    } catch {
      // A socket, or a pipe of another user.
    }
  }
  if (target === 1) void process.stdout.writable;
  else if (target === 2) void process.stderr.writable;
  return { fd: target, isOwn: false };
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // Closed; writing to it will say so.
    return false;
  }
}

function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) count += 1;
  return count;
}

function isBusy(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EAGAIN' || error.code === 'EBUSY' || error.code === 'EINTR';
}
