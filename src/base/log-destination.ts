// Where log lines leave the process: in order, in few system calls, without waiting for a slow reader, and complete at exit.
// Not pino.destination: what its background thread is writing when the process exits can mix with the last lines, and its
// blocking flush loops forever on a closed pipe.
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { createBackoff } from './backoff.ts';

export interface LogDestination {
  readonly isTerminal: boolean;
  /** `mayWait`: the line may be buffered until the next line that may not, until the batch is full, or for a short time. */
  write(line: string, mayWait?: boolean): void;
  /** Resolves when everything written so far was handed to the operating system, or was lost. */
  flush(): Promise<void>;
  /** Writes all buffered lines, and waits a limited time for a slow reader. */
  flushSync(): void;
  /** Flushes, and closes what was opened here. */
  close(): void;
}

interface LogDestinationOptions {
  /** While the reader is slow, lines wait in memory up to this many bytes; later ones are dropped. */
  readonly maxWaitingBytes?: number;
  /** The longest time for which lines that may wait do so. */
  readonly maxWaitMs?: number;
  /** Lines can pass again: how many were dropped. */
  readonly onDropped?: (count: number) => void;
  /** Other processes write there too: no line of theirs may come between the parts of one of ours. */
  readonly isShared?: boolean;
}

const firstRetryMs = 1;
const lastRetryMs = 50;
/** How long exit waits for a reader that does not read, */
const exitPatienceMs = 2_000;
/** and for one that is slow. */
const mostExitPatienceMs = 10_000;
const defaultMaxWaitMs = 100;
/** Characters that are worth a system call: half of what a pipe holds. */
const batchLength = 32_768;
/** Characters that are encoded into the same memory every time: what one turn of a busy gateway adds to a batch fits as well. */
const scratchLength = 2 * batchLength;
/** The most that UTF-8 takes for one of them. */
const maxBytesPerCharacter = 3;
const wholeBytes = 4_096;

/** Opens a file descriptor or a file for log lines. */
export function openLogDestination(target: number | string, options: LogDestinationOptions = {}): LogDestination {
  const { fd, isOwn } = openTarget(target);
  const maxWaitingBytes = options.maxWaitingBytes ?? 16 * 1024 * 1024;
  const maxWaitMs = options.maxWaitMs ?? defaultMaxWaitMs;
  /** Lines that are not encoded yet, as one string: V8 keeps it as a rope, and flattens it when it is encoded. */
  let waiting = '';
  /** Encoded batches that wait for a slow reader. */
  let batches: Buffer[] = [];
  let batchedBytes = 0;
  let scratch: Buffer | undefined;
  /** The part that the last system call did not write. */
  let rest: Buffer = Buffer.alloc(0);
  let dropped = 0;
  let broken = false;
  /** A write is already scheduled. */
  let scheduled = false;
  let timer: NodeJS.Timeout | undefined;
  let isTimed = false;
  const backoff = createBackoff({ firstMs: firstRetryMs, maxMs: lastRetryMs });
  let waiters: (() => void)[] = [];

  /** Writes as much as fits: true when nothing is left, false when the reader is slow. */
  function writeAll(): boolean {
    while (!broken && hasLines()) {
      if (rest.length === 0) rest = takeBatch();
      try {
        rest = rest.subarray(writeSync(fd, options.isShared === true ? takeLines(rest) : rest));
        backoff.reset();
      } catch (error) {
        if (isBusy(error as NodeJS.ErrnoException)) return false;
        giveUp(error as NodeJS.ErrnoException);
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
      setTimeout(writeNext, backoff.next());
      return;
    }
    // Not after a failure of this very turn: a report into a full disk would fail and ask for the next report.
    if (dropped > 0 && dropped === before && !broken) {
      const count = dropped;
      dropped = 0;
      options.onDropped?.(count);
    }
    if (scheduled) return;
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
    waiting = '';
    batches = [];
    batchedBytes = 0;
  }

  function hasLines(): boolean {
    return rest.length > 0 || batches.length > 0 || waiting !== '';
  }

  /** Only when nothing is left over: what is may be in the scratch memory. */
  function takeBatch(): Buffer {
    if (batches.length === 0 && waiting.length <= scratchLength) {
      scratch ??= Buffer.allocUnsafeSlow(scratchLength * maxBytesPerCharacter);
      const length = scratch.write(waiting);
      waiting = '';
      return scratch.subarray(0, length);
    }
    if (batches.length === 0) makeBatch();
    const batch = batches.shift()!;
    batchedBytes -= batch.length;
    return batch;
  }

  /** Encodes the waiting lines: while the reader is slow, a rope of many strings would take several times the memory. */
  function makeBatch(): void {
    const batch = Buffer.from(waiting);
    waiting = '';
    batches.push(batch);
    batchedBytes += batch.length;
  }

  /** In the next turn of the event loop: what many requests log in this one goes out in one call. */
  function writeSoon(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(writeNext);
  }

  function writeLater(): void {
    if (isTimed) return;
    isTimed = true;
    // Exit writes buffered lines, so the timer need not keep the process alive.
    if (timer === undefined) timer = setTimeout(endWait, maxWaitMs).unref();
    else timer.refresh();
  }

  function endWait(): void {
    isTimed = false;
    if (!scheduled && hasLines()) writeNext();
  }

  function flushSync(): void {
    const last = Date.now() + mostExitPatienceMs;
    let deadline = 0;
    let left = Number.POSITIVE_INFINITY;
    while (!writeAll()) {
      const now = Date.now();
      const stillLeft = waiting.length + batchedBytes + rest.length;
      if (stillLeft < left) deadline = Math.min(now + exitPatienceMs, last);
      if (now >= deadline) return;
      left = stillLeft;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, firstRetryMs);
    }
  }

  // Runs on a normal end, on process.exit and after an uncaught error alike.
  process.on('exit', flushSync);

  const isTerminal = isatty(fd);
  return {
    isTerminal,
    write(line, mayWait = false) {
      if (broken) return;
      if (waiting.length + batchedBytes + rest.length + line.length > maxWaitingBytes) {
        dropped += 1;
        return;
      }
      waiting += line;
      // A person is watching a terminal.
      if (waiting.length >= batchLength || !mayWait || isTerminal) writeSoon();
      else writeLater();
      if (waiting.length >= scratchLength) makeBatch();
    },
    flush() {
      if (broken || (!scheduled && !hasLines())) return Promise.resolve();
      writeSoon();
      return new Promise((resolve) => waiters.push(resolve));
    },
    flushSync,
    close() {
      if (broken) return;
      flushSync();
      clearTimeout(timer);
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
 * never says "busy"; opened a second time it would have a second position, and other writers would overwrite the log.
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

/** Of lines together, what a pipe takes as a whole or not at all (pipe(7), PIPE_BUF). A longer line is on its own. */
function takeLines(lines: Buffer): Buffer {
  if (lines.length <= wholeBytes) return lines;
  const end = lines.lastIndexOf(0x0a, wholeBytes - 1);
  return lines.subarray(0, (end === -1 ? lines.indexOf(0x0a) : end) + 1);
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
