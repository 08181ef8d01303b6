// The file with the keys that values are sealed with: two slots, readable by its owner only, replaced as a whole and never in place.
//   current: 0rHk...    seals and opens
//   previous: 9xQd...   opens what was sealed before the last rotation
// 32 bytes each, in base64 or base64url. A `#` starts a comment. There is no default key: no file, no sealing.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createSealKey } from '../base/sealed.ts';
import {
  type KeyFileKind,
  type KeyFileResult,
  type KeyFileSystem,
  readKeyFile,
  readOrCreateKeyFile,
  refuseKeyFile,
  replaceKeyFile,
} from './key-file.ts';
import { makeSealKeys, sealKeyBytes, type SealKeys } from './seal-keys.ts';

/** The seal keys, or why there are none. */
export type SealKeyResult = KeyFileResult<SealKeys>;

/** The seal key file. */
export const sealKeyFileKind: KeyFileKind<SealKeys> = {
  name: 'seal key file',
  flag: '--seal-key-file',
  replaceCommand: 'mcp-gatehouse rotate-key --drop-previous',
  maxBytes: 4096,
  make: makeSealKeys,
  format: formatKeys,
  parse: parseKeys,
};

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
export function readSealKeyFile(path: string, files?: KeyFileSystem): Promise<SealKeyResult> {
  return readKeyFile(path, sealKeyFileKind, files);
}

/** Reads the file, and makes it with new keys when there is none. */
export function readOrCreateSealKeyFile(path: string, files?: KeyFileSystem): Promise<SealKeyResult> {
  return readOrCreateKeyFile(path, sealKeyFileKind, files);
}

/** Puts a new key in the place of the current one, which becomes the previous one, or is forgotten as well. */
export function rotateSealKeyFile(
  path: string,
  { dropPrevious }: { readonly dropPrevious: boolean },
  files?: KeyFileSystem,
): Promise<SealKeyResult> {
  return replaceKeyFile(
    path,
    sealKeyFileKind,
    ({ current }) => ({ current: createSealKey(), previous: dropPrevious ? undefined : current }),
    files,
  );
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
        ? refuseKeyFile('truncated', `${place} has no key: the file seems to be cut off. ${restoreAdvice}`)
        : refuseKeyFile('malformed', `${place} must read "current: KEY" or "previous: KEY".`);
    }
    const [, slot, encoded] = match as unknown as [string, string, string];
    if (slots.has(slot)) return refuseKeyFile('malformed', `${place} has a second ${slot} key. Keep one of them.`);
    const key = decodeKey(encoded);
    if (key === undefined) {
      return refuseKeyFile(
        'malformed',
        `${place} has a key that is not base64. Make one with: openssl rand -base64 32`,
      );
    }
    if (key.length < sealKeyBytes) {
      return refuseKeyFile(
        'truncated',
        `${place} has a key of ${key.length} bytes instead of ${sealKeyBytes}: the file seems to be cut off. ${restoreAdvice}`,
      );
    }
    if (key.length > sealKeyBytes || key.every((byte) => byte === key[0])) {
      return refuseKeyFile('malformed', `${place} has no usable key. Make one with: openssl rand -base64 32`);
    }
    slots.set(slot, key);
  }
  const current = slots.get('current');
  const previous = slots.get('previous');
  if (current === undefined) {
    return refuseKeyFile(
      'truncated',
      `The seal key file ${path} has no current key: it seems to be cut off. ${restoreAdvice}`,
    );
  }
  if (previous !== undefined && Buffer.compare(current, previous) === 0) {
    return refuseKeyFile(
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

function safeHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
