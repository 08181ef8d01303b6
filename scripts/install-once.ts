// Installs something into a folder of the user's cache, once, whoever asks: lanes of a suite, suites side by side, checkouts beside each other.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Thrown when something cannot be installed. The message is one line that says what to do. */
export class InstallationError extends Error {
  readonly code = 'INSTALLATION';
}

export interface Installation {
  /** What is being installed, in messages: `Keycloak 26.4.7`. */
  readonly title: string;
  /** Where it will be. */
  readonly folder: string;
  readonly isInstalled: () => Promise<boolean>;
  /** Makes it in an empty folder beside its place, and returns the folder to move there: this one, or one in it. */
  readonly install: (building: string) => Promise<string>;
  readonly report: (line: string) => void;
}

const progressInterval = 15_000;

/** Makes sure that it is installed. Who comes while another process installs it waits for that one. */
export async function installOnce({ title, folder, isInstalled, install, report }: Installation): Promise<void> {
  if (await isInstalled()) return;
  await mkdir(dirname(folder), { recursive: true });
  const unlock = await lock(`${folder}.lock`, (seconds) =>
    report(`Waiting for another process that installs ${title}: ${seconds} s`),
  );
  try {
    if (await isInstalled()) return;
    // Made beside its place and moved there whole, so that a broken-off installation is never taken for a good one.
    const building = `${folder}.building`;
    await rm(building, { recursive: true, force: true });
    await mkdir(building);
    try {
      const made = await install(building);
      await rm(folder, { recursive: true, force: true });
      await rename(made, folder);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
  } finally {
    unlock();
  }
}

/** Runs an installer as a command: prints where the program is, or one line that says why not. */
export async function runInstaller(
  title: string,
  install: (report: (line: string) => void) => Promise<string>,
): Promise<void> {
  try {
    console.log(`${title}: ${await install(console.log)}`);
  } catch (error) {
    if (!(error instanceof InstallationError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** The kernel lets go of the lock when the process that holds it ends, however it ends. */
async function lock(file: string, onWait: (seconds: number) => void): Promise<() => void> {
  const holder = spawn('flock', [file, 'sh', '-c', 'echo locked; exec cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const started = Date.now();
  const waiting = setInterval(() => onWait(Math.round((Date.now() - started) / 1000)), progressInterval);
  try {
    await Promise.race([
      once(holder.stdout, 'data'),
      once(holder, 'close').then(() => {
        throw new InstallationError(`${file} cannot be locked.`);
      }),
    ]);
  } catch (error) {
    if (error instanceof InstallationError) throw error;
    throw new InstallationError('Installing needs flock (Debian: apt-get install util-linux).', { cause: error });
  } finally {
    clearInterval(waiting);
  }
  return () => void holder.stdin.end();
}
