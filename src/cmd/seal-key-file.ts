// The file with the keys that values are sealed with: two slots, readable by its owner only, replaced as a whole and never in place.
//   current: 0rHk...    seals and opens
//   previous: 9xQd...   opens what was sealed before the last rotation
// 32 bytes each, in base64 or base64url. A `#` starts a comment. There is no default key: no file, no sealing.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { createSealKey } from '../base/sealed.ts';
import { makeSealKeys, sealKeyBytes, type SealKeys } from './seal-keys.ts';

/** Why keys cannot be had. */
type SealKeyProblem =
  | 'missing' // there is no file
  | 'insecure' // others than the owner can read or replace it
  | 'truncated' // it has no current key, or one that is too short
  | 'malformed' // it has something else in it
  | 'unreadable'
  | 'unwritable'
  | 'disk_full';

/** The keys, or why there are none, in a sentence that names the file and what to do. */
export type SealKeyResult =
  | { readonly ok: true; readonly keys: SealKeys; readonly created: boolean }
  | { readonly ok: false; readonly problem: SealKeyProblem; readonly message: string };

/** What is needed of node:fs/promises. */
export type KeyFileSystem = Pick<typeof nodeFiles, 'link' | 'mkdir' | 'open' | 'rename' | 'stat' | 'unlink'>;

const maxFileBytes = 4096;

/**
 * The default place of the file: the user's folder for state (XDG Base Directory). Undefined: there is no such folder. Keys that are in the folder of the
 * product's former name stay in use there, and `tellFormer` hears of it.
 */
export function findDefaultKeyFile(
  env: Readonly<Record<string, string | undefined>>,
  tellFormer: (former: string, current: string) => void = () => {},
): string | undefined {
  const folder = findStateFolder(env);
  if (folder === undefined) return undefined;
  const [current, former] = ['mcp-gatehouse', 'mcp-gateway'].map((name) => join(folder, name, 'seal-keys'));
  if (existsSync(current!) || !existsSync(former!)) return current;
  tellFormer(former!, current!);
  return former;
}

function findStateFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const state = env['XDG_STATE_HOME'] ?? '';
  // The specification says that a relative one is to be ignored.
  if (isAbsolute(state)) return state;
  const home = env['HOME'] ?? safeHome();
  return home !== undefined && isAbsolute(home) ? join(home, '.local', 'state') : undefined;
}

/** Reads the file. */
export async function readSealKeyFile(path: string, files: KeyFileSystem = nodeFiles): Promise<SealKeyResult> {
  let text: string;
  try {
    const folderProblem = await findFolderProblem(path, files);
    if (folderProblem !== undefined) return folderProblem;
    const handle = await files.open(path, 'r');
    try {
      // Of the opened file, not of whatever has its name a moment later.
      const stats = await handle.stat();
      if (!stats.isFile()) return refuse('malformed', `The seal key file ${path} is not a regular file.`);
      const exposed = describeExposure(path, stats.mode, stats.uid);
      if (exposed !== undefined) return refuse('insecure', exposed);
      if (stats.size > maxFileBytes) return refuse('malformed', `The seal key file ${path} is too large to be one.`);
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    return describeReadError(path, error);
  }
  return parseKeys(path, text);
}

/** Reads the file, and makes it with new keys when there is none. Two processes that start together end up with the same keys. */
export async function readOrCreateSealKeyFile(path: string, files: KeyFileSystem = nodeFiles): Promise<SealKeyResult> {
  const read = await readSealKeyFile(path, files);
  if (read.ok || read.problem !== 'missing') return read;
  const keys = makeSealKeys();
  try {
    await files.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // A link, not a rename: it fails when somebody else was faster, instead of taking their keys away.
    await writeWhole(path, formatKeys(keys), files, (temporary) => files.link(temporary, path));
    return { ok: true, keys, created: true };
  } catch (error) {
    if (readCode(error) === 'EEXIST') return readSealKeyFile(path, files);
    return describeWriteError(path, error, 'there is no key, and nothing was written');
  }
}

/** Puts a new key in the place of the current one, which becomes the previous one, or is forgotten as well. */
export async function rotateSealKeyFile(
  path: string,
  options: { readonly dropPrevious: boolean },
  files: KeyFileSystem = nodeFiles,
): Promise<SealKeyResult> {
  const read = await readSealKeyFile(path, files);
  if (!read.ok) return read;
  const keys: SealKeys = { current: createSealKey(), previous: options.dropPrevious ? undefined : read.keys.current };
  try {
    await writeWhole(path, formatKeys(keys), files, (temporary) => files.rename(temporary, path));
    return { ok: true, keys, created: false };
  } catch (error) {
    return describeWriteError(path, error, 'the keys are as they were');
  }
}

function formatKeys({ current, previous }: SealKeys): string {
  const lines = [
    '# The keys that mcp-gatehouse seals client ids and logins with. Whoever has them can forge both: keep this file to yourself.',
    '# To rotate: mcp-gatehouse rotate-key. The current key seals, both open.',
    `current: ${Buffer.from(current).toString('base64url')}`,
  ];
  if (previous !== undefined) lines.push(`previous: ${Buffer.from(previous).toString('base64url')}`);
  return `${lines.join('\n')}\n`;
}

/** No message shows anything that stands after the name of a slot. */
function parseKeys(path: string, text: string): SealKeyResult {
  const slots = new Map<string, Uint8Array>();
  for (const [index, line] of text.split('\n').entries()) {
    const written = line.replace(/#.*/, '').trim();
    if (written === '') continue;
    const place = `The seal key file ${path}, line ${index + 1},`;
    const match = /^(current|previous):\s*(\S+)$/.exec(written);
    if (match === null) {
      return /^(?:c|p)[a-z]*:?$/.test(written)
        ? refuse('truncated', `${place} has no key: the file seems to be cut off. ${restoreAdvice}`)
        : refuse('malformed', `${place} must read "current: KEY" or "previous: KEY".`);
    }
    const [, slot, encoded] = match as unknown as [string, string, string];
    if (slots.has(slot)) return refuse('malformed', `${place} has a second ${slot} key. Keep one of them.`);
    const key = decodeKey(encoded);
    if (key === undefined) {
      return refuse('malformed', `${place} has a key that is not base64. Make one with: openssl rand -base64 32`);
    }
    if (key.length < sealKeyBytes) {
      return refuse(
        'truncated',
        `${place} has a key of ${key.length} bytes instead of ${sealKeyBytes}: the file seems to be cut off. ${restoreAdvice}`,
      );
    }
    if (key.length > sealKeyBytes || key.every((byte) => byte === key[0])) {
      return refuse('malformed', `${place} has no usable key. Make one with: openssl rand -base64 32`);
    }
    slots.set(slot, key);
  }
  const current = slots.get('current');
  const previous = slots.get('previous');
  if (current === undefined) {
    return refuse(
      'truncated',
      `The seal key file ${path} has no current key: it seems to be cut off. ${restoreAdvice}`,
    );
  }
  if (previous !== undefined && Buffer.compare(current, previous) === 0) {
    return refuse(
      'malformed',
      `The seal key file ${path} has the same key twice. Make one with: openssl rand -base64 32`,
    );
  }
  return { ok: true, keys: { current, previous }, created: false };
}

const restoreAdvice = 'Restore it, or delete it to have a new one made; everybody logs in again then.';

function decodeKey(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64');
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
async function findFolderProblem(path: string, files: KeyFileSystem): Promise<SealKeyResult | undefined> {
  if (process.platform === 'win32') return undefined;
  const folder = dirname(resolve(path));
  const { mode } = await files.stat(folder);
  const isOpenToAll = (mode & 0o002) !== 0 && (mode & 0o1000) === 0;
  return isOpenToAll
    ? refuse(
        'insecure',
        `Everybody can write to ${folder}, where the seal key file is. Run: chmod 700 ${quote(folder)}`,
      )
    : undefined;
}

function describeExposure(path: string, mode: number, owner: number): string | undefined {
  if (process.platform === 'win32') return undefined;
  if ((mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0');
    return `The seal key file ${path} can be used by others than its owner (mode ${shown}). Run: chmod 600 ${quote(path)}; and if others may have read it: mcp-gatehouse rotate-key --drop-previous`;
  }
  const own = process.getuid?.();
  if (own === undefined || owner === own || owner === 0) return undefined;
  return `The seal key file ${path} belongs to the user with id ${owner}; this gateway runs as ${own}.`;
}

function describeReadError(path: string, error: unknown): SealKeyResult {
  const code = readCode(error);
  if (code === 'ENOENT') return refuse('missing', `There is no seal key file ${path}.`);
  const why =
    code === 'EACCES' || code === 'EPERM'
      ? 'this user may not'
      : code === 'ENOTDIR'
        ? 'a part of its path is not a folder'
        : readMessage(error);
  return refuse('unreadable', `The seal key file ${path} cannot be read: ${why}.`);
}

function describeWriteError(path: string, error: unknown, outcome: string): SealKeyResult {
  const code = readCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return refuse('disk_full', `The disk of the seal key file ${path} is full; ${outcome}. Make room and try again.`);
  }
  const folder = dirname(path);
  const why =
    code === 'EACCES' || code === 'EPERM'
      ? `this user may not write to ${folder}`
      : code === 'EROFS'
        ? `${folder} is read-only`
        : code === 'ENOTDIR' || code === 'EEXIST'
          ? `a part of ${folder} is not a folder`
          : readMessage(error);
  return refuse(
    'unwritable',
    `The seal key file ${path} cannot be written: ${why}; ${outcome}. Choose another place with --seal-key-file.`,
  );
}

function refuse(problem: SealKeyProblem, message: string): SealKeyResult {
  return { ok: false, problem, message };
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

function safeHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
