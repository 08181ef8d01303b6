// One reading of all files: their present content, merged with what was good before. Puts nothing in force.
import { basename, dirname, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Extension } from '../../api/kinds.ts';
import { isMapping } from '../../api/mapping.ts';
import { collectResources, type Snapshot } from '../resource-snapshot.ts';
import { type SourceProblem, formatIdentity } from '../resource-source.ts';
import { validateResource, type ValidationResult } from '../validate.ts';
import { describeDuplicate, describeInvalid } from './describe-problems.ts';
import { listFiles, lookAtFile, type FileSet, type ListingProblem } from './file-set.ts';
import { keepLastGood, type FilePlace, type LastInForce, type ValidatedResource } from './keep-last-good.ts';
import { keptFile, loadFile, type FileContent, type LoadedFile } from './load-file.ts';
import { readText } from './read-text.ts';
import type { RawResource } from './read-yaml.ts';
import { listKeyFiles, resolveKeyFiles } from './resolve-key-files.ts';
import { findStrayReferences, substituteEnvironment, type SubstitutionProblem } from './substitute-environment.ts';
import { Turns } from './take-turns.ts';
import type { FileLook, WatchedFolder } from './watch-files.ts';

/** The maximum size of a file with the value of a Secret. */
const maxValueBytes = 1024 * 1024;

/** What is remembered from one reading to the next. */
export interface FilesMemory {
  /** The last good content of every file. */
  readonly contents: ReadonlyMap<string, FileContent>;
  readonly lastInForce: LastInForce;
  /** The files that values of Secrets and key sets of policies come from. */
  readonly valueFiles: readonly string[];
}

const nothingInForce: LastInForce = { good: new Map(), invalid: [] };

/** What one reading found. */
export interface FilesReading {
  /** Taken before the first file was read. */
  readonly look: FileLook;
  readonly problems: readonly SourceProblem[];
  /** False if some file was never valid: it may hold a policy, so nothing new can be served. */
  readonly isComplete: boolean;
  readonly snapshot: Snapshot<FilePlace>;
  /** What to remember if this reading is put in force. */
  readonly memory: FilesMemory;
}

/** What a reading needs to know. */
export interface ReadFilesOptions {
  /** Absolute. */
  readonly paths: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  /** Extensions whose kinds are read, too. */
  readonly extensions: readonly Extension[];
  /** A cache that skips the validation of unchanged resources. */
  readonly validated: WeakMap<RawResource, ValidationResult>;
}

/** Reads everything. `memory` is undefined the first time. Never throws for what is in the files or on the disk. */
export async function readFiles(options: ReadFilesOptions, memory: FilesMemory | undefined): Promise<FilesReading> {
  const { set, look } = await lookAround(options.paths, memory?.valueFiles ?? []);
  const known = memory?.contents ?? new Map<string, FileContent>();
  const contents = new Map<string, FileContent>();
  const keySets = new Map<string, FileContent>();
  const problems: SourceProblem[] = [];
  const turns = new Turns();
  let isComplete = true;

  const loadedFiles = [];
  for (const { path } of set.files) loadedFiles.push(await loadFile(path, known.get(path), turns));
  const keyFiles = listNamedKeyFiles(loadedFiles);
  for (const loaded of loadedFiles) {
    const { path } = loaded;
    // A key set beside the configuration, in the same folder. The policy that names it reports its problems.
    if (keyFiles.has(path) && loaded.content?.resources.every(isNoResource) === true) {
      keySets.set(path, loaded.content);
      continue;
    }
    problems.push(
      ...loaded.problems.map((problem) => (loaded.content === undefined ? holdBack(problem, memory) : problem)),
    );
    if (loaded.content === undefined) isComplete = false;
    else contents.set(path, loaded.content);
  }
  for (const problem of set.problems) {
    const kept = findKept(problem, known);
    for (const [path, content] of kept) contents.set(path, content);
    const isHarmless = problem.code === 'no_resources' || (problem.code === 'not_found' && memory !== undefined);
    if (kept.length === 0 && !isHarmless) isComplete = false;
    problems.push(describeListingProblem(problem, kept.length > 0, isHarmless ? undefined : memory));
  }

  const read = await validateContents(contents, options, turns);
  const { entries, keptFor } = keepLastGood(read.resources, memory?.lastInForce ?? nothingInForce);
  const snapshot = collectResources(entries);
  for (const resource of read.resources) {
    problems.push(...describeInvalid(resource, keptFor.get(resource), read.unresolved.get(resource) ?? []));
  }
  problems.push(...snapshot.duplicates.map((duplicate) => describeDuplicate(duplicate, options.workingDirectory)));

  const good = snapshot.inForce.filter((entry) => entry.state === 'valid');
  const lastInForce: LastInForce = {
    good: new Map(good.map((entry) => [formatIdentity(entry.identity), entry])),
    invalid: snapshot.inForce.filter((entry) => entry.state === 'invalid'),
  };
  return {
    look,
    problems,
    isComplete,
    snapshot,
    memory: { contents: new Map([...contents, ...keySets]), lastInForce, valueFiles: read.valueFiles },
  };
}

/** The files that policies name as key sets. */
function listNamedKeyFiles(files: readonly LoadedFile[]): ReadonlySet<string> {
  return new Set(
    files.flatMap(({ path, content }) =>
      (content?.resources ?? []).flatMap(({ raw }) => listKeyFiles(raw, dirname(path))),
    ),
  );
}

/** Only what cannot be meant as a resource is left out: a policy must not vanish because another one names its file. */
function isNoResource({ raw }: RawResource): boolean {
  return isMapping(raw) && raw['apiVersion'] === undefined && raw['kind'] === undefined;
}

/** Looks at everything without reading it. */
export async function lookAtFiles(paths: readonly string[], valueFiles: readonly string[]): Promise<FileLook> {
  return (await lookAround(paths, valueFiles)).look;
}

async function lookAround(
  paths: readonly string[],
  valueFiles: readonly string[],
): Promise<{ set: FileSet; look: FileLook }> {
  const takenAt = Date.now();
  const set = await listFiles(paths);
  const values = await Promise.all(valueFiles.map(lookAtFile));
  const lines = [...set.files, ...values].map(({ path, fingerprint }) => `${path} ${fingerprint}`);
  lines.push(...set.problems.map(({ path, message }) => `${path} ${message}`));
  // "..data": where the values are a mounted Secret, that is what changes.
  const valueFolders = valueFiles.map((path): WatchedFolder => ({
    path: dirname(path),
    names: new Set([basename(path), '..data']),
  }));
  const look: FileLook = {
    takenAt,
    fingerprint: lines.join('\n'),
    youngest: Math.max(0, ...[...set.files, ...values].map(({ changedAt }) => changedAt)),
    folders: [...set.folders, ...valueFolders],
  };
  return { set, look };
}

/** Known files below an unreadable path. A missing file was deleted; a missing folder may be a lost mount. */
function findKept(problem: ListingProblem, known: ReadonlyMap<string, FileContent>): [string, FileContent][] {
  if (problem.code === 'no_resources') return [];
  return [...known].filter(
    ([path]) => path.startsWith(`${problem.path}${sep}`) || (path === problem.path && problem.code !== 'not_found'),
  );
}

function describeListingProblem(
  problem: ListingProblem,
  isKept: boolean,
  memory: FilesMemory | undefined,
): SourceProblem {
  const described: SourceProblem = { file: problem.path, path: [], code: problem.code, message: problem.message };
  return isKept ? { ...described, consequence: keptFile } : holdBack(described, memory);
}

function holdBack(problem: SourceProblem, memory: FilesMemory | undefined): SourceProblem {
  if (memory === undefined) return problem;
  return {
    ...problem,
    consequence: 'it may hold a policy, so the previous configuration stays in force until it can be read',
  };
}

interface ReadResources {
  readonly resources: readonly ValidatedResource[];
  readonly unresolved: ReadonlyMap<ValidatedResource, readonly SubstitutionProblem[]>;
  readonly valueFiles: readonly string[];
}

async function validateContents(
  contents: ReadonlyMap<string, FileContent>,
  options: ReadFilesOptions,
  turns: Turns,
): Promise<ReadResources> {
  const resources: ValidatedResource[] = [];
  const unresolved = new Map<ValidatedResource, readonly SubstitutionProblem[]>();
  const valueFiles = new Set<string>();
  for (const [file, content] of contents) {
    const sources = {
      environment: options.environment,
      folder: dirname(file),
      readValueFile: (path: string) => readText(path, maxValueBytes),
      readKeyFile: readText,
    };
    for (const written of content.resources) {
      await turns.pass();
      const substituted = await substituteEnvironment(written.raw, sources);
      const resolved = await resolveKeyFiles(substituted.raw, sources);
      for (const path of [...substituted.files, ...resolved.files]) valueFiles.add(path);
      // As it is written: the text of a key file is no part of it.
      const found = listUnresolved(findStrayReferences(written.raw), [...substituted.problems, ...resolved.problems]);
      const resource = { place: { file, written }, result: validate(written, resolved.raw, found, options) };
      resources.push(resource);
      if (found.length > 0) unresolved.set(resource, found);
    }
  }
  return { resources, unresolved, valueFiles: [...valueFiles] };
}

function validate(
  written: RawResource,
  raw: unknown,
  unresolved: readonly SubstitutionProblem[],
  { extensions, validated }: ReadFilesOptions,
): ValidationResult {
  // Values from the environment or from files may have changed.
  if (raw !== written.raw || unresolved.length > 0)
    return addUnresolved(validateResource(raw, 'file', extensions), raw, unresolved);
  const known = validated.get(written);
  if (known !== undefined) return known;
  const result = validateResource(raw, 'file', extensions);
  validated.set(written, result);
  return result;
}

/** A reference where nobody resolves one is the whole problem of its field: a file of that name is not missing. */
function listUnresolved(
  stray: readonly SubstitutionProblem[],
  others: readonly SubstitutionProblem[],
): readonly SubstitutionProblem[] {
  return [...stray, ...others.filter(({ path }) => !stray.some((each) => isDeepStrictEqual(each.path, path)))];
}

/** A resource with unresolved values is invalid. What is wrong with such a value otherwise need not be said. */
function addUnresolved(
  result: ValidationResult,
  raw: unknown,
  unresolved: readonly SubstitutionProblem[],
): ValidationResult {
  if (unresolved.length === 0) return result;
  const problems = unresolved.map(({ path, message }) => ({ path, code: 'invalid' as const, message }));
  if (!result.ok) {
    const others = result.problems.filter(({ path }) => !problems.some((each) => isDeepStrictEqual(each.path, path)));
    return { ...result, problems: [...others, ...problems] };
  }
  const { identity } = result;
  const named = { kind: identity.kind, metadata: { name: identity.name, namespace: identity.namespace } };
  // The targets of a policy are closed: they stand in it. The values of a Secret go no further than here.
  const shown = identity.kind === 'Secret' ? named : raw;
  return { ok: false, identity, writtenKind: identity.kind, problems, raw: shown };
}
