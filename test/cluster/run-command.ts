// Runs a program to its end and returns what it printed. Programs are given arguments, never a line for a shell.
import { spawn } from 'node:child_process';

/** What a program printed, when it ended well. */
export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/** What a program gets besides its arguments. */
export interface CommandOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

/** Thrown when a program cannot be started or ends with anything but 0. The message has what it said. */
export class CommandFailedError extends Error {
  readonly code = 'COMMAND_FAILED';
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(line: string, exitCode: number | null, { stdout, stderr }: CommandOutput) {
    super(`${line}: ${stderr.trim() || stdout.trim() || `exit code ${exitCode}`}`);
    this.exitCode = exitCode;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/** Runs a program; throws unless it ends with 0. */
export function runCommand(
  command: string,
  args: readonly string[],
  { input, env, cwd, timeoutMs = 120_000 }: CommandOptions = {},
): Promise<CommandOutput> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandOutput>();
  const line = `${command} ${args.join(' ')}`.slice(0, 300);
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.on('error', (error) => reject(new CommandFailedError(line, null, { stdout, stderr: error.message })));
  child.on('close', (code) => {
    if (code === 0) resolve({ stdout, stderr });
    else reject(new CommandFailedError(line, code, { stdout, stderr }));
  });
  // A program that ends without reading its input is judged by its exit code.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input ?? '');
  return promise;
}
