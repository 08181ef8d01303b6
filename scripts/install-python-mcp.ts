// Installs the Python MCP library (PyPI `mcp`) into a virtual environment in the user's cache folder, once per version.
// Run by `npm run test:compatibility`; `node scripts/install-python-mcp.ts` does it alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';

/** The versions that the compatibility suite uses: the last of the first line, and the current one. */
export const pythonMcpVersions = ['1.30.0', '2.3.0'] as const;

/** Thrown when the library cannot be installed. The message is one line that says what to do. */
export class PythonUnavailableError extends Error {
  readonly code = 'PYTHON_UNAVAILABLE';
}

interface Interpreter {
  readonly command: string;
  readonly version: string;
}

const oldest = [3, 10] as const;

/** Makes sure that a version of the library is installed, and returns the interpreter that has it. */
export async function installPythonMcp(version: string, report: (line: string) => void): Promise<string> {
  const interpreter = await findInterpreter();
  const parent = join(findCacheFolder(), 'python-mcp');
  const folder = join(parent, `${version}-python-${interpreter.version}`);
  const python = join(folder, 'bin', 'python');
  if (await hasVersion(python, version)) return python;

  report(`Installing Python mcp ${version} for Python ${interpreter.version}. This happens once.`);
  // Built beside its place and moved there whole, so that a broken-off installation is never taken for a good one. The
  // interpreter finds its packages relative to itself and does not mind the move.
  const building = `${folder}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(parent, { recursive: true });
  try {
    await run(interpreter.command, ['-m', 'venv', building], report);
    const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', `mcp==${version}`];
    await run(join(building, 'bin', 'python'), pip, report);
    await rm(folder, { recursive: true, force: true });
    await rename(building, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  if (!(await hasVersion(python, version))) {
    throw new PythonUnavailableError(`Python mcp ${version} was installed in ${folder} but cannot be imported.`);
  }
  return python;
}

async function findInterpreter(): Promise<Interpreter> {
  const names = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];
  const script = 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])';
  for (const command of names) {
    const result = await capture(command, ['-c', script]);
    if (result === undefined) continue;
    const [major = 0, minor = 0] = result.split('.').map(Number);
    if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return { command, version: result };
  }
  throw new PythonUnavailableError(
    'The compatibility suite needs Python 3.10 or newer with venv (Debian: apt-get install python3 python3-venv).',
  );
}

async function hasVersion(python: string, version: string): Promise<boolean> {
  try {
    await access(python);
  } catch {
    return false;
  }
  const script = 'import mcp, importlib.metadata; print(importlib.metadata.version("mcp"))';
  return (await capture(python, ['-c', script])) === version;
}

/** The output of a program; undefined when it is missing or fails. */
async function capture(command: string, args: readonly string[]): Promise<string | undefined> {
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

async function run(command: string, args: readonly string[], report: (line: string) => void): Promise<void> {
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
  throw new PythonUnavailableError(`Python mcp could not be installed (${args.slice(0, 3).join(' ')}): ${reason}`);
}

if (import.meta.main) {
  try {
    for (const version of pythonMcpVersions) {
      console.log(`Python mcp ${version}: ${await installPythonMcp(version, console.log)}`);
    }
  } catch (error) {
    if (!(error instanceof PythonUnavailableError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
