// The xDS certificate in a folder that Kubernetes fills from a Secret and replaces as a whole (a symbolic link `..data` to the present content).
import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateFiles } from './check-certificate.ts';
import type { CertificateReading, CertificateSource } from './xds-certificate.ts';

/** The files of a folder. */
export class CertificateFolder implements CertificateSource {
  readonly place: string;
  readonly mayTear = true;
  readonly #folder: string;
  #watcher: FSWatcher | undefined;
  #onChange: (() => void) | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.place = `Secret proxy-xds-cert, mounted at ${folder}`;
  }

  async read(): Promise<CertificateReading> {
    this.#watchFolder();
    // Resolve the link once, so that the three files are of the same version: it may be replaced between two reads.
    const source = await realpath(join(this.#folder, '..data')).catch(() => this.#folder);
    const names = ['tls.crt', 'tls.key', 'ca.crt'] as const;
    try {
      const [certificateChain, privateKey, ca] = await Promise.all(
        names.map((name) => readIfThere(join(source, name))),
      );
      const files: CertificateFiles = { certificateChain, privateKey, ca };
      return { files };
    } catch (error) {
      return { problem: `the files cannot be read: ${error instanceof Error ? error.message : String(error)}` };
    }
  }

  /** Only shortens the delay: not every file system reports changes. */
  follow(onChange: () => void): void {
    this.#onChange = onChange;
    this.#watchFolder();
  }

  stop(): void {
    this.#onChange = undefined;
    this.#watcher?.close();
  }

  #watchFolder(): void {
    if (this.#watcher !== undefined || this.#onChange === undefined) return;
    try {
      const watcher = watch(this.#folder, { persistent: false }, () => this.#onChange?.());
      const forget = (): void => {
        if (this.#watcher === watcher) this.#watcher = undefined;
      };
      watcher.on('error', forget);
      watcher.on('close', forget);
      this.#watcher = watcher;
    } catch {
      // The folder does not exist yet.
    }
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
