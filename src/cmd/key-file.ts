// A file with keys: readable by its owner only, made once however many processes want it, replaced as a whole and never in place. What is in it, a KeyFileKind says.
import { randomUUID } from 'node:crypto';
import * as nodeFiles from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Why keys cannot be had. */
type KeyFileProblem =
  | 'missing' // there is no file
  | 'insecure' // others than the owner can read or replace it
  | 'truncated' // keys are missing at its end, or one is cut off
  | 'malformed' // it has something else in it
  | 'unreadable'
  | 'unwritable'
  | 'disk_full';

/** The keys, or why there are none, in a sentence that names the file and what to do. */
export type KeyFileResult<K> = { readonly ok: true; readonly keys: K; readonly created: boolean } | KeyFileRefusal;

/** Why there are no keys. */
interface KeyFileRefusal {
  readonly ok: false;
  readonly problem: KeyFileProblem;
  readonly message: string;
}

/** What is needed of node:fs/promises. */
export type KeyFileSystem = Pick<typeof nodeFiles, 'link' | 'mkdir' | 'open' | 'rename' | 'stat' | 'unlink'>;

/** One kind of key file. */
export interface KeyFileKind<K> {
  /** For people: `seal key file`. */
  readonly name: string;
  /** The flag that chooses its place. */
  readonly flag: string;
  /** The command for keys that others may have read. */
  readonly replaceCommand: string;
  readonly maxBytes: number;
  make(): K;
  format(keys: K): string;
  /** No message of it shows anything of a key. */
  parse(path: string, text: string): KeyFileResult<K>;
}

/** Reads the file. */
export async function readKeyFile<K>(
  path: string,
  kind: KeyFileKind<K>,
  files: KeyFileSystem = nodeFiles,
): Promise<KeyFileResult<K>> {
  let text: string;
  try {
    const folderProblem = await findFolderProblem(path, kind, files);
    if (folderProblem !== undefined) return folderProblem;
    const handle = await files.open(path, 'r');
    try {
      // Of the opened file, not of whatever has its name a moment later.
      const stats = await handle.stat();
      if (!stats.isFile()) return refuseKeyFile('malformed', `The ${kind.name} ${path} is not a regular file.`);
      const exposed = describeExposure(path, kind, stats.mode, stats.uid);
      if (exposed !== undefined) return refuseKeyFile('insecure', exposed);
      if (stats.size > kind.maxBytes)
        return refuseKeyFile('malformed', `The ${kind.name} ${path} is too large to be one.`);
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    return describeReadError(path, kind, error);
  }
  return kind.parse(path, text);
}

/** Reads the file, and makes it with new keys when there is none. Two processes that start together end up with the same keys. */
export async function readOrCreateKeyFile<K>(
  path: string,
  kind: KeyFileKind<K>,
  files: KeyFileSystem = nodeFiles,
): Promise<KeyFileResult<K>> {
  const read = await readKeyFile(path, kind, files);
  if (read.ok || read.problem !== 'missing') return read;
  const keys = kind.make();
  try {
    await files.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // A link, not a rename: it fails when somebody else was faster, instead of taking their keys away.
    await writeWhole(path, kind.format(keys), files, (temporary) => files.link(temporary, path));
    return { ok: true, keys, created: true };
  } catch (error) {
    if (readCode(error) === 'EEXIST') return readKeyFile(path, kind, files);
    return describeWriteError(path, kind, error, 'there is no key, and nothing was written');
  }
}

/** Puts other keys into a file that can be read, computed from those in it. */
export async function replaceKeyFile<K>(
  path: string,
  kind: KeyFileKind<K>,
  replace: (keys: K) => K,
  files: KeyFileSystem = nodeFiles,
): Promise<KeyFileResult<K>> {
  const read = await readKeyFile(path, kind, files);
  if (!read.ok) return read;
  const keys = replace(read.keys);
  try {
    await writeWhole(path, kind.format(keys), files, (temporary) => files.rename(temporary, path));
    return { ok: true, keys, created: false };
  } catch (error) {
    return describeWriteError(path, kind, error, 'the keys are as they were');
  }
}

/** The outcome for a file that cannot be used. */
export function refuseKeyFile(problem: KeyFileProblem, message: string): KeyFileRefusal {
  return { ok: false, problem, message };
}

/** Writes a file beside the one that is meant, complete and on the disk, and then gives it its name. */
async function writeWhole(
  path: string,
  text: string,
  files: KeyFileSystem,
  putInPlace: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  // Owned by this user, and readable by this user only from its first byte.
  const handle = await files.open(temporary, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await putInPlace(temporary);
  } finally {
    // After a rename there is nothing left to remove.
    await files.unlink(temporary).catch(() => {});
  }
}

/** In a folder that everybody can write to, anybody could replace the file: it must not hold keys. */
async function findFolderProblem(
  path: string,
  { name }: KeyFileKind<unknown>,
  files: KeyFileSystem,
): Promise<KeyFileRefusal | undefined> {
  if (process.platform === 'win32') return undefined;
  const folder = dirname(resolve(path));
  const { mode } = await files.stat(folder);
  const isOpenToAll = (mode & 0o002) !== 0 && (mode & 0o1000) === 0;
  return isOpenToAll
    ? refuseKeyFile(
        'insecure',
        `Everybody can write to ${folder}, where the ${name} is. Run: chmod 700 ${quote(folder)}`,
      )
    : undefined;
}

function describeExposure(
  path: string,
  { name, replaceCommand }: KeyFileKind<unknown>,
  mode: number,
  owner: number,
): string | undefined {
  if (process.platform === 'win32') return undefined;
  if ((mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0');
    return `The ${name} ${path} can be used by others than its owner (mode ${shown}). Run: chmod 600 ${quote(path)}; and if others may have read it: ${replaceCommand}`;
  }
  const own = process.getuid?.();
  if (own === undefined || owner === own || owner === 0) return undefined;
  return `The ${name} ${path} belongs to the user with id ${owner}; this gateway runs as ${own}.`;
}

function describeReadError(path: string, { name }: KeyFileKind<unknown>, error: unknown): KeyFileRefusal {
  const code = readCode(error);
  if (code === 'ENOENT') return refuseKeyFile('missing', `There is no ${name} ${path}.`);
  const why =
    code === 'EACCES' || code === 'EPERM'
      ? 'this user may not'
      : code === 'ENOTDIR'
        ? 'a part of its path is not a folder'
        : readMessage(error);
  return refuseKeyFile('unreadable', `The ${name} ${path} cannot be read: ${why}.`);
}

function describeWriteError(
  path: string,
  { name, flag }: KeyFileKind<unknown>,
  error: unknown,
  outcome: string,
): KeyFileRefusal {
  const code = readCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return refuseKeyFile('disk_full', `The disk of the ${name} ${path} is full; ${outcome}. Make room and try again.`);
  const folder = dirname(path);
  const why =
    code === 'EACCES' || code === 'EPERM'
      ? `this user may not write to ${folder}`
      : code === 'EROFS'
        ? `${folder} is read-only`
        : code === 'ENOTDIR' || code === 'EEXIST'
          ? `a part of ${folder} is not a folder`
          : readMessage(error);
  return refuseKeyFile(
    'unwritable',
    `The ${name} ${path} cannot be written: ${why}; ${outcome}. Choose another place with ${flag}.`,
  );
}

function readCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function readMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function quote(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
