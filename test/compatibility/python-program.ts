// A Python program that drives MCP clients (serve_clients.py): one process for all clients of a library, as each costs a second of CPU to start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Thrown when a Python client fails. Its traceback is the message. */
export class PythonClientError extends Error {
  readonly code = 'PYTHON_CLIENT_FAILED';
}

/** What a client tells in between, with the members that belong to this event. */
export interface PythonEvent {
  readonly event: string;
}

export interface AskOptions {
  readonly onProgress?: ((progress: number) => void) | undefined;
  /** Gives it up. */
  readonly signal?: AbortSignal | undefined;
}

/** A client inside the program. */
export interface PythonClient {
  /** Has its driver do something. The first is `connect`, the last `close`. */
  ask(op: string, details?: object, options?: AskOptions): Promise<unknown>;
  /** The same for what is not answered. */
  tell(op: string, details?: object): void;
  /** Fails everything that it works on. */
  fail(error: Error): void;
}

/** Starts with its first client. */
export interface PythonProgram {
  addClient(hear: (event: PythonEvent) => void): PythonClient;
  /** Ends it, with all of its clients. */
  stop(): Promise<void>;
}

/** `script` is beside this file. */
export function createPythonProgram(python: string, script: string): PythonProgram {
  let running: RunningProgram | undefined;
  return {
    addClient(hear) {
      if (running?.hasEnded !== false) running = startProgram(python, fileURLToPath(new URL(script, import.meta.url)));
      return running.addClient(hear);
    },
    stop: async () => running?.stop(),
  };
}

interface RunningProgram extends PythonProgram {
  readonly hasEnded: boolean;
}

interface Pending extends AskOptions {
  readonly client: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Line {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface EventLine extends PythonEvent {
  readonly client: number;
}

interface ProgressLine extends EventLine {
  readonly call: number;
  readonly progress: number;
}

function startProgram(python: string, script: string): RunningProgram {
  // Its input ends with this process, and then it does.
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  let hasEnded = false;
  let complaints = '';
  const hearers = new Map<number, (event: PythonEvent) => void>();
  const pending = new Map<number, Pending>();
  let lastId = 0;
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const failAll = (error: Error, client?: number): void => {
    for (const [id, each] of pending) {
      if (client !== undefined && each.client !== client) continue;
      pending.delete(id);
      each.reject(error);
    }
  };
  const exited = once(child, 'close')
    .catch((error: unknown) => (complaints += String(error)))
    .then(() => {
      hasEnded = true;
      failAll(new PythonClientError(`The Python program ended:\n${complaints}`));
    });
  // What cannot be written belongs to a program that has ended, which fails everything.
  child.stdin.on('error', () => {});
  const write = (command: object): void => void child.stdin.write(`${JSON.stringify(command)}\n`);

  const hear = (line: Line | EventLine): void => {
    if ('event' in line) {
      if (line.event === 'progress') {
        const { call, progress } = line as ProgressLine;
        pending.get(call)?.onProgress?.(progress);
      } else hearers.get(line.client)?.(line);
      return;
    }
    const { id = 0, result, error } = line;
    const waiting = pending.get(id);
    pending.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new PythonClientError(error));
  };
  createInterface({ input: child.stdout }).on('line', (text) => hear(JSON.parse(text) as Line | EventLine));

  return {
    get hasEnded() {
      return hasEnded;
    },
    addClient(hearEvent) {
      const client = hearers.size + 1;
      hearers.set(client, hearEvent);
      const tell = (op: string, details: object = {}): void => write({ client, op, ...details });
      return {
        tell,
        ask: (op, details = {}, { onProgress, signal } = {}) =>
          new Promise((resolve, reject) => {
            lastId += 1;
            const id = lastId;
            pending.set(id, { client, resolve, reject, onProgress });
            write({ client, id, op, ...details });
            signal?.addEventListener('abort', () => tell('abandon', { call: id }));
          }),
        fail: (error) => failAll(error, client),
      };
    },
    async stop() {
      // It has nothing to save.
      child.kill();
      await exited;
    },
  };
}
