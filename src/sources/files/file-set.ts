// Expands a list of paths to files, each with a fingerprint: a cheap check whether anything changed.
import type { BigIntStats } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { WatchedFolder } from './watch-files.ts';

/** With more files than this, the path is probably not a configuration folder. */
const maxFiles = 10_000;

/** A file to read. */
interface ListedFile {
  /** Absolute path, as reached from the path that was asked for (symbolic links are not resolved in it). */
  readonly path: string;
  /** Equal as long as the file was not written, replaced or pointed elsewhere. */
  readonly fingerprint: string;
  /** When it was last written or replaced, in milliseconds since 1970, by the clock of the file system. */
  readonly changedAt: number;
}

/** A path that cannot be read. The files below it may still exist. */
export interface ListingProblem {
  readonly path: string;
  readonly code: 'not_found' | 'unreadable' | 'no_resources';
  readonly message: string;
}

/** What the paths stand for at one moment. */
export interface FileSet {
  /** In the order of the paths asked for, and by name within each: the same files always come in the same order. */
  readonly files: readonly ListedFile[];
  /** The folders to watch. */
  readonly folders: readonly WatchedFolder[];
  readonly problems: readonly ListingProblem[];
}

/** Looks at every path: a file is itself, a folder is every YAML and JSON file below it. Never throws. */
export async function listFiles(paths: readonly string[]): Promise<FileSet> {
  const listing = new Listing();
  for (const path of paths) await listing.addRoot(resolve(path));
  return { files: listing.files, folders: listing.folders, problems: listing.problems };
}

/** Looks at one file. The fingerprint of a missing file contains the reason. Never throws. */
export async function lookAtFile(path: string): Promise<ListedFile> {
  try {
    return describeFile(path, await stat(path, { bigint: true }));
  } catch (error) {
    return { path, fingerprint: `error:${readErrorCode(error)}`, changedAt: 0 };
  }
}

/** Says in plain words why a file system call failed. */
export function describeFileError(error: unknown): string {
  const code = readErrorCode(error);
  switch (code) {
    case 'ENOENT':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'cannot be read by this user: check its permissions';
    case 'ELOOP':
      return 'is a symbolic link that leads back to itself';
    case 'EISDIR':
      return 'is a folder';
    default:
      return `cannot be read (${code})`;
  }
}

class Listing {
  readonly files: ListedFile[] = [];
  readonly folders: WatchedFolder[] = [];
  readonly problems: ListingProblem[] = [];
  readonly #seen = new Set<string>();
  #found = 0;
  #isFull = false;

  async addRoot(root: string): Promise<void> {
    let stats: BigIntStats;
    // A path that is replaced, by a rename or by pointing a link elsewhere, is a change in the folder above.
    this.folders.push({ path: dirname(root), names: new Set([basename(root)]) });
    try {
      stats = await stat(root, { bigint: true });
    } catch (error) {
      const missing = readErrorCode(error) === 'ENOENT';
      this.problems.push({ path: root, code: missing ? 'not_found' : 'unreadable', message: describeFileError(error) });
      return;
    }
    if (stats.isDirectory()) {
      const before = this.#found + this.problems.length;
      await this.#addFolder(root, stats);
      if (this.#found + this.problems.length === before) {
        const message = 'has no file that ends in .yaml, .yml or .json';
        this.problems.push({ path: root, code: 'no_resources', message });
      }
      return;
    }
    if (stats.isFile()) await this.#addFile(root, stats);
    else this.problems.push({ path: root, code: 'unreadable', message: 'is neither a file nor a folder' });
  }

  async #addFolder(folder: string, stats: BigIntStats): Promise<void> {
    // By inode: a symbolic link to a folder above would otherwise go round for ever.
    const key = `${stats.dev}:${stats.ino}`;
    if (this.#seen.has(key)) {
      this.#found++;
      return;
    }
    this.#seen.add(key);
    this.folders.push({ path: folder });
    let names: string[];
    try {
      names = await readdir(folder);
    } catch (error) {
      this.problems.push({ path: folder, code: 'unreadable', message: describeFileError(error) });
      return;
    }
    for (const name of names.toSorted()) {
      // Also skips "..data" and "..2026_01_01": what they hold shows up under its own name, as a link (ConfigMap mounts).
      if (name.startsWith('.')) continue;
      await this.#addEntry(join(folder, name), name);
    }
  }

  async #addEntry(path: string, name: string): Promise<void> {
    let stats: BigIntStats;
    try {
      stats = await stat(path, { bigint: true });
    } catch (error) {
      // An entry that vanished since readdir, or somebody's dangling link, is no problem unless it is named like configuration.
      const isLostLink = readErrorCode(error) !== 'ENOENT' || (await isDanglingLink(path));
      if (isLostLink && isConfigurationName(name)) {
        this.problems.push({ path, code: 'unreadable', message: describeFileError(error) });
      }
      return;
    }
    if (stats.isDirectory()) await this.#addFolder(path, stats);
    else if (stats.isFile() && isConfigurationName(name)) await this.#addFile(path, stats);
  }

  async #addFile(path: string, stats: BigIntStats): Promise<void> {
    // The same file reached twice (-f conf -f conf/a.yaml) is one file. Two hard links are two: they may be edited apart.
    const key = await realpath(path).catch(() => path);
    this.#found++;
    if (this.#seen.has(key) || this.#isFull) return;
    this.#seen.add(key);
    if (this.files.length === maxFiles) {
      this.#isFull = true;
      this.problems.push({ path, code: 'unreadable', message: `is one more than the ${maxFiles} files that are read` });
      return;
    }
    this.files.push(describeFile(path, stats));
  }
}

/** Backup and temporary files of editors end differently (.yaml~, .swp, .yaml.bak) or are hidden. */
function isConfigurationName(name: string): boolean {
  return /^[^.#~].*\.(?:ya?ml|json)$/i.test(name);
}

async function isDanglingLink(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}

function describeFile(path: string, stats: BigIntStats): ListedFile {
  return {
    path,
    fingerprint: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
    changedAt: Number(stats.mtimeMs > stats.ctimeMs ? stats.mtimeMs : stats.ctimeMs),
  };
}

function readErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
}
