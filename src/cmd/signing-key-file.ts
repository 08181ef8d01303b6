// The file with the keys of issued tokens:
//   {"about": "...", "keys": [{"kid": "...", "createdAt": "2026-01-01T00:00:00.000Z", "signsFrom": "2026-01-01T00:05:00.000Z", "privateKey": "-----BEGIN PRIVATE KEY-----..."}]}
// There is no default key: no file, no tokens.
import { dirname, join } from 'node:path';
import { isJsonObject, type JsonObject, readJsonObject } from '../base/json-object.ts';
import { formatSigningKey, parseSigningKey } from '../base/signing-key.ts';
import {
  type KeyFileKind,
  type KeyFileResult,
  type KeyFileSystem,
  readOrCreateKeyFile,
  refuseKeyFile,
  replaceKeyFile,
} from './key-file.ts';
import { type DatedSigningKey, makeSigningKeys, rotateSigningKeys } from './signing-keys.ts';

/** The signing keys, or why there are none. */
export type SigningKeyResult = KeyFileResult<readonly DatedSigningKey[]>;

/** The signing key file; `now` dates keys that are made. */
export function describeSigningKeyFile(now: () => number = Date.now): KeyFileKind<readonly DatedSigningKey[]> {
  return {
    name: 'signing key file',
    flag: '--signing-key-file',
    replaceCommand: 'mcp-gatehouse rotate-key --signing --drop-previous',
    maxBytes: 64 * 1024,
    make: () => makeSigningKeys(now()),
    format: formatKeys,
    parse: parseKeys,
  };
}

/** The default place of the file: beside the seal key file. */
export function findSigningKeyFile(sealKeyFile: string | undefined): string | undefined {
  return sealKeyFile === undefined ? undefined : join(dirname(sealKeyFile), 'signing-keys');
}

/** Reads the file, and makes it with a new key when there is none. */
export function readOrCreateSigningKeyFile(path: string, files?: KeyFileSystem): Promise<SigningKeyResult> {
  return readOrCreateKeyFile(path, describeSigningKeyFile(), files);
}

/** Adds a key that signs later, or puts a new one in the place of all. */
export function rotateSigningKeyFile(
  path: string,
  options: { readonly dropPrevious: boolean; readonly now: number },
  files?: KeyFileSystem,
): Promise<SigningKeyResult> {
  return replaceKeyFile(path, describeSigningKeyFile(), (keys) => rotateSigningKeys(keys, options.now, options), files);
}

const about =
  'The keys that mcp-gatehouse signs access tokens with. Whoever has them can forge tokens: keep this file to yourself. To rotate: mcp-gatehouse rotate-key --signing';

function formatKeys(keys: readonly DatedSigningKey[]): string {
  const written = keys.map((key) => ({
    kid: key.kid,
    createdAt: new Date(key.createdAt).toISOString(),
    signsFrom: new Date(key.signsFrom).toISOString(),
    privateKey: formatSigningKey(key),
  }));
  return `${JSON.stringify({ about, keys: written }, undefined, 2)}\n`;
}

const restoreAdvice =
  'Restore it, or delete it to have a new one made; access tokens until now are refused then, and clients fetch new ones.';

/** No message shows anything of a key. */
function parseKeys(path: string, text: string): SigningKeyResult {
  const file = `The signing key file ${path}`;
  const read = readJsonObject(text, { maxDepth: 4, refuseDuplicateKeys: true });
  if (!read.ok)
    return refuseKeyFile(
      text.trim().endsWith('}') ? 'malformed' : 'truncated',
      `${file} ${read.problem}. ${restoreAdvice}`,
    );
  const stranger = findStranger(read.value, ['about', 'keys']);
  if (stranger !== undefined)
    return refuseKeyFile('malformed', `${file} has the member ${stranger}, which is not known.`);
  const { keys: entries } = read.value;
  if (!Array.isArray(entries) || entries.length === 0)
    return refuseKeyFile('truncated', `${file} has no keys. ${restoreAdvice}`);
  const keys: DatedSigningKey[] = [];
  for (const [index, entry] of (entries as unknown[]).entries()) {
    const place = `${file}, keys[${index}],`;
    const key = parseKey(entry);
    if (typeof key === 'string') return refuseKeyFile('malformed', `${place} ${key}`);
    if (keys.some(({ kid }) => kid === key.kid))
      return refuseKeyFile('malformed', `${place} has the kid of a key before it. Keep one of them.`);
    keys.push(key);
  }
  return { ok: true, keys, created: false };
}

/** The key, or what is wrong with it. */
function parseKey(entry: unknown): DatedSigningKey | string {
  if (!isJsonObject(entry)) return 'is not an object with kid, createdAt, signsFrom and privateKey.';
  const stranger = findStranger(entry, ['kid', 'createdAt', 'signsFrom', 'privateKey']);
  if (stranger !== undefined) return `has the member ${stranger}, which is not known.`;
  const { kid, privateKey } = entry;
  if (typeof kid !== 'string' || !/^[\w.~-]{1,128}$/.test(kid))
    return 'needs a kid: up to 128 letters, digits, and any of - . _ ~';
  const [createdAt, signsFrom] = [parseTime(entry['createdAt']), parseTime(entry['signsFrom'])];
  if (createdAt === undefined) return 'needs createdAt: a time such as 2026-01-31T12:00:00Z';
  if (signsFrom === undefined) return 'needs signsFrom: a time such as 2026-01-31T12:00:00Z';
  const key = typeof privateKey === 'string' ? parseSigningKey(privateKey) : undefined;
  if (key === undefined)
    return 'has a privateKey that is none for ES256: PEM (PKCS #8) of a key on the curve P-256. Make one with: mcp-gatehouse rotate-key --signing';
  return { kid, privateKey: key.privateKey, createdAt, signsFrom };
}

function parseTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(value)) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}

/** A member that nothing reads, as it may be quoted. */
function findStranger(object: JsonObject, known: readonly string[]): string | undefined {
  const stranger = Object.keys(object).find((name) => !known.includes(name));
  return stranger === undefined ? undefined : JSON.stringify(stranger.slice(0, 40));
}
