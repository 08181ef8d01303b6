// A problem as one line that editors and terminals make clickable: file:line:column field.path: what is wrong, and what would be right.
import { isAbsolute, relative, sep } from 'node:path';
import { formatFieldPath } from '../../api/problem.ts';
import { escapeControls } from '../../base/terminal.ts';
import type { SourceProblem } from '../resource-source.ts';

/** Formats a problem. Paths are relative to `workingDirectory` when the file lies in it. */
export function formatProblemLine(problem: SourceProblem, workingDirectory: string): string {
  const place = formatPosition(problem, workingDirectory);
  const field = formatFieldPath(problem.path);
  const message = problem.consequence === undefined ? problem.message : `${problem.message} (${problem.consequence})`;
  return escapeControls(`${place}${field === '' ? '' : ` ${field}`}: ${message}`);
}

/** file:line:column, or the file alone when the whole of it is meant. */
export function formatPosition(
  position: { readonly file: string; readonly line?: number; readonly column?: number },
  workingDirectory: string,
): string {
  let text = shortenPath(position.file, workingDirectory);
  if (position.line !== undefined) text += `:${position.line}`;
  if (position.line !== undefined && position.column !== undefined) text += `:${position.column}`;
  return text;
}

/** The path as a person in `workingDirectory` would type it. A file outside of it keeps its absolute path. */
export function shortenPath(file: string, workingDirectory: string): string {
  const short = relative(workingDirectory, file);
  return short === '' || short === '..' || short.startsWith(`..${sep}`) || isAbsolute(short) ? file : short;
}
