// The load: wrk, on a core of its own, sends one request over and over on a fixed number of connections.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchRequest } from './bench-case.ts';
import { startPinned } from './pinned-process.ts';

const connections = 32;

export interface LoadOptions {
  readonly wrk: string;
  readonly taskset: string;
  readonly core: number;
  readonly url: string;
  /** As writeLoadScript made it. */
  readonly script: string;
}

/** What wrk did. */
export interface LoadResult {
  readonly requests: number;
  /** Those in which it was held still included. */
  readonly seconds: number;
  /** Answers other than 2xx and 3xx, and connections that failed. */
  readonly failures: number;
}

/** Writes the request down for wrk. Returns the path of the script. */
export async function writeLoadScript(folder: string, name: string, request: BenchRequest): Promise<string> {
  const path = join(folder, `${name}.lua`);
  const lines = [
    `wrk.method = ${quote(request.method)}`,
    ...Object.entries(request.headers).map(([header, value]) => `wrk.headers[${quote(header)}] = ${quote(value)}`),
    ...(request.body === undefined ? [] : [`wrk.body = ${quote(request.body)}`]),
    'done = function(summary)',
    '  local errors = summary.errors',
    '  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout',
    '  io.write(string.format("bench %d %d %d\\n", summary.requests, summary.duration, failed))',
    'end',
  ];
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** A text in Lua, byte by byte where it is not plain. */
function quote(text: string): string {
  const escaped = [...Buffer.from(text)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\${String(byte).padStart(3, '0')}`,
  );
  return `"${escaped.join('')}"`;
}

/** A load that can be held still without losing its connections. */
export interface Load {
  pause(): void;
  resume(): void;
  /** Ends it and says what it did. */
  finish(): Promise<LoadResult>;
  stop(): Promise<void>;
}

/** Longer than any run: it ends when it is told to. */
const longest = '24h';
/** Answers that wait while it is held still are not late. No longer than needed: wrk takes 8 MB of memory for every second of it. */
const longestWait = '20s';

/** Starts the load. It runs at once. */
export function startLoad({ wrk, taskset, core, url, script }: LoadOptions): Load {
  const numbers = ['--threads', '1', '--connections', String(connections)];
  const times = ['--duration', longest, '--timeout', longestWait];
  const load = startPinned({
    taskset,
    core,
    command: wrk,
    args: [...numbers, ...times, '--script', script, url],
    keepsOutput: true,
  });
  return {
    pause: () => load.signal('SIGSTOP'),
    resume: () => load.signal('SIGCONT'),
    async finish() {
      load.signal('SIGCONT');
      // Either of its two threads may get the signal. The one that sends requests ends by it, but only the other one can report.
      const insist = setInterval(() => load.signal('SIGINT'), 100);
      await load.waitForExit();
      clearInterval(insist);
      return parseLoadResult(load.readOutput());
    },
    async stop() {
      load.signal('SIGCONT');
      await load.stop();
    },
  };
}

/** Reads the line that the script writes at the end. */
export function parseLoadResult(output: string): LoadResult {
  const match = /^bench (\d+) (\d+) (\d+)$/m.exec(output);
  if (match === null) throw new Error(`wrk said nothing that we know:\n${output}`);
  return { requests: Number(match[1]), seconds: Number(match[2]) / 1_000_000, failures: Number(match[3]) };
}
