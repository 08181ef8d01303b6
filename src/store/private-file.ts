// The file of a store on disk: of this user alone, in a folder of this user alone. Made when it is missing.
import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes sure of both; a sentence says what is wrong. `path` is absolute. Undefined: all is well. */
export function findPrivateFileProblem(path: string): string | undefined {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const exposedFolder = findExposure(folder, 'folder', 0o700);
    if (exposedFolder !== undefined) return exposedFolder;
    makeFile(path);
    if (!statSync(path).isFile()) return `the store ${path} is not a regular file`;
    const exposedFile = findExposure(path, 'store', 0o600);
    if (exposedFile !== undefined) return exposedFile;
    // SQLite makes files beside it.
    for (const each of [path, folder]) accessSync(each, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return `the store ${path} cannot be opened: ${describeFileError(error, folder)}`;
  }
}

/** Before the database has a byte in it, so that nobody else can open it at any time. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (readCode(error) !== 'EEXIST') throw error;
  }
}

function findExposure(path: string, what: string, wanted: number): string | undefined {
  // Windows has other rights, and no modes.
  if (process.platform === 'win32') return undefined;
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0');
    return `the ${what} ${path} has mode ${shown}, and others can use it. Run: chmod ${wanted.toString(8)} ${quote(path)}`;
  }
  const own = process.getuid?.();
  if (own === undefined || uid === own || own === 0) return undefined;
  return `the ${what} ${path} belongs to the user with id ${uid}, and this process runs as ${own}`;
}

function describeFileError(error: unknown, folder: string): string {
  switch (readCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return `this user may not use ${folder}`;
    case 'EROFS':
      return `${folder} is on a file system that is read-only`;
    // What Node makes of a read-only file system, too, when several folders are missing.
    case 'ENOENT':
      return `the folder ${folder} cannot be made`;
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'ENOTDIR':
    case 'EEXIST':
      return `a part of ${folder} is not a folder`;
    default:
      return error instanceof Error ? error.message : String(error);
  }
}

function readCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function quote(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
