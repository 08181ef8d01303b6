// `jwks: {file: PATH}` of a policy: the text of the file becomes `inline`, so that a key set is followed as the files of configuration are.
// `file` stays beside it, for people. A relative path starts at the folder of the file that names it.
import { createPublicKey } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { maxKeySetLength } from '../../api/json-web-key-set.ts';
import { findKeySetProblem } from '../../api/key-set-text.ts';
import { isMapping } from '../../api/mapping.ts';
import type { ReadTextResult } from './read-text.ts';
import type { Substitution, SubstitutionProblem } from './substitute-environment.ts';

/** Where key sets come from. */
interface KeyFileSources {
  /** The folder that relative paths start at. */
  readonly folder: string;
  readonly readKeyFile: (path: string, maxBytes: number) => Promise<ReadTextResult>;
}

type Mapping = Readonly<Record<string, unknown>>;
type FieldPath = readonly (string | number)[];

/** Reads the key files of a policy. Every other resource comes back as it is. */
export async function resolveKeyFiles(raw: unknown, sources: KeyFileSources): Promise<Substitution> {
  const problems: SubstitutionProblem[] = [];
  const files = new Set<string>();
  let resolved = raw;
  for (const { path, jwks, file } of findKeySets(raw)) {
    if (jwks['inline'] !== undefined) {
      problems.push({ path, message: 'must have either inline or file, not both' });
      continue;
    }
    const place = locate(file, sources.folder);
    files.add(place);
    const read = await sources.readKeyFile(place, maxKeySetLength);
    const problem = read.ok ? (findKeySetProblem(read.value) ?? findUnusable(read.value)) : read.message;
    if (!read.ok || problem !== undefined)
      problems.push({ path: [...path, 'file'], message: `the file ${place} ${problem}` });
    else resolved = replaceAt(resolved, path, { ...jwks, inline: read.value });
  }
  return { raw: resolved, problems, files: [...files] };
}

/** The absolute paths of the key files that a resource names. */
export function listKeyFiles(raw: unknown, folder: string): string[] {
  return findKeySets(raw).map(({ file }) => locate(file, folder));
}

function locate(file: string, folder: string): string {
  return isAbsolute(file) ? file : join(folder, file);
}

interface NamedKeySet {
  readonly path: FieldPath;
  readonly jwks: Mapping;
  readonly file: string;
}

function findKeySets(raw: unknown): NamedKeySet[] {
  if (!isMapping(raw) || raw['kind'] !== 'ProxyPolicy') return [];
  const providersPath = ['spec', 'traffic', 'jwtAuthentication', 'providers'];
  const providers = readAt(raw, providersPath);
  const paths: FieldPath[] = [
    ...(Array.isArray(providers) ? providers : []).map((_, index) => [...providersPath, index, 'jwks']),
    ['spec', 'backend', 'mcp', 'authentication', 'jwks'],
  ];
  return paths.flatMap((path) => {
    const jwks = readAt(raw, path);
    // What is not a path, the schema refuses.
    return isMapping(jwks) && typeof jwks['file'] === 'string' && jwks['file'] !== ''
      ? [{ path, jwks, file: jwks['file'] }]
      : [];
  });
}

function readAt(value: unknown, path: FieldPath): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  return at;
}

/** New objects on the way: YAML aliases let two resources share one. */
function replaceAt(value: unknown, [step, ...rest]: FieldPath, replacement: unknown): unknown {
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? replaceAt(item, rest, replacement) : item));
  const mapping = value as Mapping;
  return { ...mapping, [step]: replaceAt(mapping[step], rest, replacement) };
}

/** A file that has no key at all must not replace one that has; how strong keys must be, the gateway decides. */
function findUnusable(text: string): string | undefined {
  const { keys } = JSON.parse(text) as { readonly keys: readonly unknown[] };
  return keys.some(isPublicKey) ? undefined : 'has no public key that can be read';
}

function isPublicKey(key: unknown): boolean {
  try {
    return isMapping(key) && createPublicKey({ key: { ...key }, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}
