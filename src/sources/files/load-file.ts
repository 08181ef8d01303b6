// Reads one file, and falls back to its last good content when it cannot be read, is broken, or was emptied: a truncated file must not
// remove a policy. Only deleting the file, or a resource in a file that has others, does that.
import { readText } from './read-text.ts';
import { maxFileBytes, readYamlInTurns, type RawResource } from './read-yaml.ts';
import type { Turns } from './take-turns.ts';
import type { SourceProblem } from '../resource-source.ts';

/** What a file held when it was last good. */
export interface FileContent {
  readonly text: string;
  readonly resources: readonly RawResource[];
}

/** A file with the content in use. */
export interface LoadedFile {
  readonly path: string;
  /** The content in use; undefined when the file was never valid. */
  readonly content: FileContent | undefined;
  readonly problems: readonly SourceProblem[];
}

/** The consequence for a file whose earlier content stays in use. */
export const keptFile = 'keeping its previous content';

/** Reads a file. `before` is its last good content. Never throws. */
export async function loadFile(path: string, before: FileContent | undefined, turns: Turns): Promise<LoadedFile> {
  // A file that was empty was never good: an editor may just have made it, and what comes next may be a policy.
  const good = before === undefined || before.resources.length === 0 ? undefined : before;
  const consequence = good === undefined ? {} : { consequence: keptFile };
  const read = await readText(path, maxFileBytes);
  if (!read.ok) {
    const problem: SourceProblem = { file: path, path: [], code: 'unreadable', message: read.message, ...consequence };
    return { path, content: good, problems: [problem] };
  }
  if (before !== undefined && read.value === before.text) return { path, content: before, problems: [] };
  const parsed = await readYamlInTurns(read.value, turns);
  if (!parsed.ok) {
    const problems = parsed.problems.map(({ position, message }): SourceProblem => ({
      file: path,
      ...position,
      path: [],
      code: 'syntax',
      message,
      ...consequence,
    }));
    return { path, content: good, problems };
  }
  if (parsed.resources.length === 0 && good !== undefined) {
    const message = 'has no resources any more; to remove them for good, delete the file';
    return {
      path,
      content: good,
      problems: [{ file: path, path: [], code: 'emptied', message, consequence: keptFile }],
    };
  }
  return { path, content: { text: read.value, resources: parsed.resources }, problems: [] };
}
