// Virtual environments of Python, with packages of PyPI, for what the compatibility suite installs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { InstallationError } from './install-once.ts';

export interface Interpreter {
  readonly command: string;
  /** `3.13`. */
  readonly version: string;
}

const oldest = [3, 10] as const;

export async function findInterpreter(): Promise<Interpreter> {
  const names = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];
  const script = 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])';
  for (const command of names) {
    const result = await capture(command, ['-c', script]);
    if (result === undefined) continue;
    const [major = 0, minor = 0] = result.split('.').map(Number);
    if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return { command, version: result };
  }
  throw new InstallationError(
    'The compatibility suite needs Python 3.10 or newer with venv (Debian: apt-get install python3 python3-venv).',
  );
}

export interface EnvironmentOptions {
  readonly interpreter: Interpreter;
  /** Empty, or not there yet. */
  readonly folder: string;
  /** What pip installs: packages, or `-r` and a file. */
  readonly packages: readonly string[];
  /** In messages: `Python mcp 2.3.0`. */
  readonly title: string;
  readonly report: (line: string) => void;
}

/** Makes one. The interpreter finds its packages relative to itself, so the folder may be moved; its scripts do not mind when they are started as `bin/python bin/NAME`. */
export async function createEnvironment({ interpreter, folder, packages, ...told }: EnvironmentOptions): Promise<void> {
  await run(interpreter.command, ['-m', 'venv', folder], told);
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', ...packages];
  await run(join(folder, 'bin', 'python'), pip, told);
}

/** The output of a program; undefined when it is missing or fails. */
export async function capture(command: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? output.trim() : undefined;
  } catch {
    return undefined;
  }
}

async function run(
  command: string,
  args: readonly string[],
  { title, report }: Pick<EnvironmentOptions, 'title' | 'report'>,
): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const hear = (text: string): void => {
    output += text;
    for (const line of text.split('\n')) {
      if (/^(Collecting|Installing|Successfully)/.test(line)) report(`  ${line.slice(0, 100)}`);
    }
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return;
  const reason = output.trim().split('\n').at(-1) ?? '';
  throw new InstallationError(`${title} could not be installed (${args.slice(0, 3).join(' ')}): ${reason}`);
}
