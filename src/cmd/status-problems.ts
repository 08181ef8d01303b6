// What translation says is wrong with resources that are valid as such, as lines for the log: causes first, each with its place.
import { formatFieldPath } from '../api/problem.ts';
import type { Resources } from '../api/resources.ts';
import { formatPosition } from '../sources/files/problem-line.ts';
import type { Translation } from '../translate/translate.ts';
import { formatMessage, formatSubject, type Locate, locateFinding } from './check-problems.ts';
import { isInvalid, type PlacedFinding, placeFindings } from './finding-causes.ts';
import { listStatusFindings } from './status-findings.ts';

/** Where resources are written; undefined for those that are in no file. */
export interface FilePlaces {
  readonly locate: Locate;
  readonly workingDirectory: string;
}

const nowhere: FilePlaces = { locate: () => undefined, workingDirectory: '' };

/** One line per finding. Resources that do not even validate are left out: their problems are reported with file and line. */
export function formatStatusProblems(translation: Translation, resources: Resources, places = nowhere): string[] {
  const reported = new Set(resources.invalid.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  const findings = listStatusFindings(translation).filter(
    ({ kind, namespace, name }) => !reported.has(`${kind} ${namespace}/${name}`),
  );
  return placeFindings(findings, resources).map((finding) => formatLine(finding, places));
}

function formatLine(finding: PlacedFinding, places: FilePlaces): string {
  const { condition, path, cause } = finding;
  const place = [formatPlace(finding, places), formatFieldPath(path)].filter((each) => each !== '').join(' ');
  const reason = condition === undefined ? '' : ` (${condition.reason})`;
  const because = cause === undefined ? '' : `; because of ${formatCause(cause, places)}`;
  return `${place === '' ? '' : `${place}: `}${formatSubject(finding)}: ${formatMessage(finding)}${reason}${because}`;
}

function formatPlace(finding: PlacedFinding, { locate, workingDirectory }: FilePlaces): string {
  const position = locateFinding(finding, locate);
  return position === undefined ? '' : formatPosition(position, workingDirectory);
}

function formatCause(cause: NonNullable<PlacedFinding['cause']>, places: FilePlaces): string {
  const place = isInvalid(cause) ? '' : formatPlace(cause, places);
  return place === '' ? formatSubject({ part: '', ...cause }) : place;
}
