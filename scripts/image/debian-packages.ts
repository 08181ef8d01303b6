// Debian packages, from wherever this machine's apt gets them: downloaded and checked by apt, unpacked, never installed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { findCacheFolder } from '../cache-folder.ts';
import { reachMachineNetwork } from '../machine-network.ts';
import { ImageUnavailableError } from './platform.ts';

const run = promisify(execFile);

/** A package that was unpacked. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The source package: `gcc-12`. */
  readonly source: string;
  /** The folder with its files. */
  readonly folder: string;
  /** Its copyright file. */
  readonly copyright: string;
}

/** Packages in a folder that is removed in the end. */
export class DebianPackages {
  readonly #architecture: string;
  readonly #folder: string;
  readonly #unpacked = new Map<string, Promise<DebianPackage>>();

  private constructor(architecture: string, folder: string) {
    this.#architecture = architecture;
    this.#folder = folder;
  }

  /** Gives packages of an architecture to `use`. */
  static async open<T>(architecture: string, use: (packages: DebianPackages) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-gatehouse-debian-'));
    try {
      return await use(new DebianPackages(architecture, folder));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** The package, in the version that apt would install. */
  find(name: string): Promise<DebianPackage> {
    const known = this.#unpacked.get(name) ?? this.#unpack(name);
    this.#unpacked.set(name, known);
    return known;
  }

  /** A file of the package by its name, without a folder; links are followed within the package. */
  async readFile(name: string, file: string): Promise<Buffer> {
    const { folder } = await this.find(name);
    const found = (await readdir(folder, { recursive: true })).filter((path) => basename(path) === file);
    const links: string[] = [];
    for (const path of found) {
      const status = await lstat(join(folder, path));
      if (status.isFile()) return readFile(join(folder, path));
      if (status.isSymbolicLink()) links.push(basename(await readlink(join(folder, path))));
    }
    const [target] = links;
    if (target !== undefined && target !== file) return this.readFile(name, target);
    throw new ImageUnavailableError(`The Debian package ${name} has no file ${file}.`);
  }

  async #unpack(name: string): Promise<DebianPackage> {
    const folder = join(this.#folder, name);
    const file = await this.#download(name);
    await mkdir(folder);
    await run('dpkg-deb', ['--extract', file, folder]);
    const { stdout } = await run('dpkg-deb', [
      '--show',
      '--showformat=${Version}\n${Architecture}\n${source:Package}',
      file,
    ]);
    const [version = '', architecture = '', source = ''] = stdout.split('\n');
    return { name, version, architecture, source, folder, copyright: await this.#readCopyright(name, folder) };
  }

  /** Packages of one source may share the file: then their folder is a link that is named after the package that has it. */
  async #readCopyright(name: string, folder: string): Promise<string> {
    const documents = join(folder, 'usr', 'share', 'doc', name);
    if (!(await lstat(documents)).isSymbolicLink()) return readFile(join(documents, 'copyright'), 'utf8');
    return (await this.find(basename(await readlink(documents)))).copyright;
  }

  /** Keeps an earlier download as long as apt would download the same file now. */
  async #download(name: string): Promise<string> {
    const cache = join(findCacheFolder(), 'debian');
    await mkdir(cache, { recursive: true });
    const wanted = `${name}:${this.#architecture}`;
    try {
      const { stdout } = await run('apt-get', ['download', '--print-uris', '-qq', wanted]);
      const [, file, hash] = /^'[^']*' (\S+) \d+ SHA256:([0-9a-f]{64})$/m.exec(stdout) ?? [];
      if (file === undefined) throw new Error(`apt does not say where it is: ${stdout.trim()}`);
      if ((await hashFile(join(cache, file))) === hash) return join(cache, file);
      // apt would hand the download to a user who may not write here; it checks the hash by itself.
      const options = ['-qq', '-o', 'APT::Sandbox::User=root'];
      const { command, args } = reachMachineNetwork('apt-get', ['download', ...options, wanted]);
      await run(command, args, { cwd: cache });
      return join(cache, file);
    } catch (error) {
      const reason = error instanceof Error ? error.message.trim().replaceAll(/\s*\n\s*/g, '; ') : String(error);
      throw new ImageUnavailableError(
        `The Debian package ${name} is needed, and apt-get cannot download it. On Debian, run apt-get update first. (${reason})`,
        { cause: error },
      );
    }
  }
}

async function hashFile(path: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  } catch {
    return undefined;
  }
}
