// The programs that the benchmarks stand on, from Debian: found, installed when we may, or asked for in one line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Thrown when a program is missing. The message is one line that says what to install. */
export class ToolMissingError extends Error {
  readonly code = 'TOOL_MISSING';
}

/** Debian's package of each program. */
const packages: Readonly<Record<string, string>> = { nginx: 'nginx-light', taskset: 'util-linux' };

/** Where each of the programs is, by name. */
export async function findTools<Name extends string>(
  names: readonly Name[],
  report: (line: string) => void,
): Promise<Readonly<Record<Name, string>>> {
  const missing = [];
  for (const name of names) if ((await findProgram(name)) === undefined) missing.push(name);
  if (missing.length > 0) await install(missing, report);
  const found = {} as Record<Name, string>;
  for (const name of names) {
    const path = await findProgram(name);
    if (path === undefined) throw new ToolMissingError(describeMissing([name]));
    found[name] = path;
  }
  return found;
}

async function install(names: readonly string[], report: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0 || (await findProgram('apt-get')) === undefined) {
    throw new ToolMissingError(describeMissing(names));
  }
  const wanted = names.map((name) => packages[name] ?? name);
  report(`Installing ${wanted.join(', ')} with apt-get. This happens once.`);
  const attempt = async (args: readonly string[]): Promise<boolean> => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const child = spawn('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env });
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  };
  const installing = ['install', '-y', '-qq', '--no-install-recommends', ...wanted];
  // A machine that has never asked for the list of packages does not know them.
  if (!(await attempt(installing)) && !((await attempt(['update', '-qq'])) && (await attempt(installing)))) {
    throw new ToolMissingError(describeMissing(names));
  }
}

function describeMissing(names: readonly string[]): string {
  const wanted = names.map((name) => packages[name] ?? name).join(' ');
  return `The benchmarks need ${names.join(' and ')}. Install them first: apt-get install ${wanted}`;
}

/** On the PATH, or where Debian keeps what only administrators run. */
async function findProgram(name: string): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const folder of folders) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
