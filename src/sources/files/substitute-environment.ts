// Values of a Secret that come from elsewhere, so that no secret needs to be written into a file of configuration:
//   stringData:
//     client-secret: ${IDP_CLIENT_SECRET}           the environment variable
//     tls.key: ${file:/etc/gateway/tls.key}         the content of a file; a relative path starts at the folder of this file
//     password: pa$$word-$${NOT_A_REFERENCE}        a $ is itself; "$${" stands for "${"
// Only in `stringData` of a Secret. One line break at the end of a file is dropped. What was put in is not looked at again.
import { isAbsolute, join } from 'node:path';

/** Where values come from. */
interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start at. */
  readonly folder: string;
  readonly readValueFile: (path: string) => Promise<ReadValueResult>;
}

/** The content of a value file, or why there is none. */
type ReadValueResult = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly message: string };

/** A reference to a value or a file that cannot be resolved. The message names the reference, never a value. */
export interface SubstitutionProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A resource with its references resolved, and the files that this depended on. */
export interface Substitution {
  readonly raw: unknown;
  readonly problems: readonly SubstitutionProblem[];
  readonly files: readonly string[];
}

/** Resolves the references of a Secret. Every other resource comes back as it is. */
export async function substituteEnvironment(raw: unknown, sources: ValueSources): Promise<Substitution> {
  if (!isObject(raw) || raw['kind'] !== 'Secret' || !isObject(raw['stringData']))
    return { raw, problems: [], files: [] };
  const problems: SubstitutionProblem[] = [];
  const files = new Set<string>();
  const values: [string, unknown][] = [];
  for (const [key, value] of Object.entries(raw['stringData'])) {
    if (typeof value !== 'string') {
      values.push([key, value]);
      continue;
    }
    const parts: string[] = [];
    for (const part of splitReferences(value)) {
      if (part.type === 'text') {
        parts.push(part.text);
        continue;
      }
      const resolved = await resolveReference(part.text, sources, files);
      if (resolved.ok) parts.push(resolved.value);
      else problems.push({ path: ['stringData', key], message: resolved.message });
    }
    values.push([key, parts.join('')]);
  }
  // A new object: YAML aliases let two resources share one.
  return { raw: { ...raw, stringData: Object.fromEntries(values) }, problems, files: [...files] };
}

/** Values of other resources that are nothing but a reference: nobody resolves them, and they would be taken as they are. */
export function findStrayReferences(raw: unknown): readonly SubstitutionProblem[] {
  if (!isObject(raw) || raw['kind'] === 'Secret') return [];
  const problems: SubstitutionProblem[] = [];
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'string' && /^\$\{(?:file:[^}]+|[A-Z_][A-Z0-9_]*)\}$/.test(value)) {
      const message = '${NAME} is replaced in stringData of a Secret only; write the value itself here';
      problems.push({ path, message });
    } else if (Array.isArray(value)) value.forEach((item: unknown, index) => visit(item, [...path, index]));
    else if (isObject(value)) for (const [key, member] of Object.entries(value)) visit(member, [...path, key]);
  };
  visit(raw['spec'], ['spec']);
  return problems;
}

type Part = { readonly type: 'text' | 'reference'; readonly text: string };

function splitReferences(value: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of value.matchAll(/\$\$\{|\$\{([^}]*)(\}?)/g)) {
    parts.push({ type: 'text', text: value.slice(end, match.index) });
    end = match.index + match[0].length;
    if (match[0] === '$${') parts.push({ type: 'text', text: '${' });
    else parts.push({ type: 'reference', text: match[2] === '' ? '' : (match[1] ?? '') });
  }
  parts.push({ type: 'text', text: value.slice(end) });
  return parts;
}

async function resolveReference(
  reference: string,
  sources: ValueSources,
  files: Set<string>,
): Promise<ReadValueResult> {
  if (reference.startsWith('file:')) {
    const written = reference.slice('file:'.length);
    if (written === '') return { ok: false, message: 'names no file; write ${file:/path/to/file}' };
    const path = isAbsolute(written) ? written : join(sources.folder, written);
    files.add(path);
    const read = await sources.readValueFile(path);
    return read.ok
      ? checkValue(read.value.replace(/\r?\n$/, ''), `the file ${path}`)
      : { ok: false, message: `the file ${path} ${read.message}` };
  }
  // Not quoted in the message: a password with "${" in it is no reference, and must not be shown.
  if (!/^[A-Za-z_]\w*$/.test(reference)) {
    return {
      ok: false,
      message:
        'has a "${" that starts no reference; write ${NAME}, ${file:/path}, or $${ for the characters themselves',
    };
  }
  const value = Object.hasOwn(sources.environment, reference) ? sources.environment[reference] : undefined;
  if (value === undefined)
    return {
      ok: false,
      message: `the environment variable ${reference} is not set; set it, or write \${file:/path/to/file}`,
    };
  return checkValue(value, `the environment variable ${reference}`);
}

/** An empty secret is a forgotten one, and some checks would let it pass. */
function checkValue(value: string, origin: string): ReadValueResult {
  return value === '' ? { ok: false, message: `${origin} is empty` } : { ok: true, value };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
