// The load: wrk, on a core of its own, sends one request over and over on a fixed number of connections.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchRequest } from './bench-case.ts';
import { startPinned } from './pinned-process.ts';

export interface LoadOptions {
  readonly wrk: string;
  readonly taskset: string;
  readonly core: number | string;
  readonly url: string;
  readonly script: LoadScript;
  readonly connections?: number;
}

/** What wrk is told, and the file in which it counts what it has sent. */
export interface LoadScript {
  readonly path: string;
  readonly counter: string;
}

/** What wrk did. */
export interface LoadResult {
  readonly requests: number;
  /** Those in which it was held still included. */
  readonly seconds: number;
  /** Connections that failed, and answers that never came. */
  readonly failures: number;
  /** Answers of 400 and up. */
  readonly refusals: number;
}

/** Writes the request down for wrk. */
export async function writeLoadScript(folder: string, name: string, request: BenchRequest): Promise<LoadScript> {
  const path = join(folder, `${name}.lua`);
  const counter = join(folder, `${name}.count`);
  await writeFile(counter, Buffer.alloc(8));
  const tokens = request.tokens?.();
  const tokenFile = join(folder, `${name}.tokens`);
  if (tokens !== undefined) await writeFile(tokenFile, tokens.map((token) => `${token}\n`).join(''));
  const bodies = request.bodies ?? [];
  const addRequest = '    requests[#requests + 1] = wrk.format(nil, nil, nil, bodies[#requests % #bodies + 1])';
  const lines = [
    `wrk.method = ${quote(request.method)}`,
    ...Object.entries(request.headers).map(([header, value]) => `wrk.headers[${quote(header)}] = ${quote(value)}`),
    `local bodies = { ${bodies.map(quote).join(', ')} }`,
    // Memory that it shares with us: reading the count costs wrk nothing and needs no answer of it. 2 is O_RDWR, 3 PROT_READ and PROT_WRITE.
    'local ffi = require("ffi")',
    'ffi.cdef[[int open(const char *, int); void *mmap(void *, size_t, int, int, int, long);]]',
    `local shared = ffi.C.mmap(nil, 8, 3, 1, ffi.C.open(${quote(counter)}, 2), 0)`,
    'local sent = ffi.cast("double *", shared)',
    'local requests = {}',
    'local last = 0',
    'init = function()',
    ...(tokens === undefined
      ? [`  for each = 1, ${Math.max(1, bodies.length)} do`, addRequest, '  end']
      : [
          `  for token in io.lines(${quote(tokenFile)}) do`,
          '    wrk.headers["authorization"] = "Bearer " .. token',
          addRequest,
          '  end',
        ]),
    'end',
    'request = function()',
    '  sent[0] = sent[0] + 1',
    '  last = last + 1',
    '  if last > #requests then last = 1 end',
    '  return requests[last]',
    'end',
    'done = function(summary)',
    '  local errors = summary.errors',
    '  local failed = errors.connect + errors.read + errors.write + errors.timeout',
    '  io.write(string.format("bench %d %d %d %d\\n", summary.requests, summary.duration, failed, errors.status))',
    'end',
  ];
  await writeFile(path, `${lines.join('\n')}\n`);
  return { path, counter };
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
  /** How many requests it has sent. All but one per connection are answered: a connection sends the next one when it has its answer. */
  countRequests(): Promise<number>;
  /** Ends it and says what it did. */
  finish(): Promise<LoadResult>;
  stop(): Promise<void>;
}

/** Longer than any run: it ends when it is told to. */
const longest = '24h';
/** Answers that wait while it is held still are not late. No longer than needed: wrk takes 8 MB of memory for every second of it. */
const longestWait = '20s';

/** Starts the load. It runs at once. */
export function startLoad({ wrk, taskset, core, url, script, connections = 32 }: LoadOptions): Load {
  const numbers = ['--threads', '1', '--connections', String(connections)];
  const times = ['--duration', longest, '--timeout', longestWait];
  const load = startPinned({
    taskset,
    core,
    command: wrk,
    args: [...numbers, ...times, '--script', script.path, url],
    keepsOutput: true,
  });
  return {
    pause: () => load.signal('SIGSTOP'),
    resume: () => load.signal('SIGCONT'),
    async countRequests() {
      return (await readFile(script.counter)).readDoubleLE();
    },
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
  const match = /^bench (\d+) (\d+) (\d+) (\d+)$/m.exec(output);
  if (match === null) throw new Error(`wrk said nothing that we know:\n${output}`);
  const [requests, micros, failures, refusals] = match.slice(1).map(Number) as [number, number, number, number];
  return { requests, seconds: micros / 1_000_000, failures, refusals };
}
