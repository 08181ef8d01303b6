// What translation says is wrong with resources that are valid as such, as lines for the log: causes first, each with its place.
import { formatFieldPath } from '../api/problem.ts';
import type { Resources } from '../api/resources.ts';
import { formatPosition } from '../sources/files/problem-line.ts';
import type { UnattachedPolicy } from '../translate/close-unprotected.ts';
import type { Translation } from '../translate/translate.ts';
import { formatMessage, formatSubject, type Locate, locateFinding, type PlacedField } from './check-problems.ts';
import { isInvalid, type PlacedFinding, placeFindings } from './finding-causes.ts';
import { listStatusFindings } from './status-findings.ts';
import { describeUnattached, isAboutUnattached } from './unattached-policies.ts';

/** Where resources are written; undefined for those that are in no file. */
export interface FilePlaces {
  readonly locate: Locate;
  readonly workingDirectory: string;
}

const nowhere: FilePlaces = { locate: () => undefined, workingDirectory: '' };

/**
 * One line per finding. Resources that do not even validate are left out: their problems are reported with file and line.
 * Those about policies in `unattached` are left out, too: formatUnattached tells of them.
 */
export function formatStatusProblems(
  translation: Translation,
  resources: Resources,
  places = nowhere,
  unattached: readonly UnattachedPolicy[] = [],
): string[] {
  return listPlaced(translation, resources)
    .filter((finding) => !isAboutUnattached(finding, unattached))
    .map((finding) => formatLine(finding, places));
}

/** One line per policy that misses a target, at the first one that it misses. */
export function formatUnattached(
  translation: Translation,
  resources: Resources,
  allowUnattached: boolean,
  places: FilePlaces,
): string[] {
  const placed = listPlaced(translation, resources);
  return translation.unattached.map((unattached) => {
    const finding = placed.find((each) => isAboutUnattached(each, [unattached]));
    const [namespace = '', name = ''] = unattached.policy.split('/');
    const place = formatField({ kind: 'ProxyPolicy', namespace, name, path: finding?.path ?? [] }, places);
    return `${place}${describeUnattached(unattached, allowUnattached)}`;
  });
}

function listPlaced(translation: Translation, resources: Resources): PlacedFinding[] {
  const reported = new Set(resources.invalid.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  const findings = listStatusFindings(translation).filter(
    ({ kind, namespace, name }) => !reported.has(`${kind} ${namespace}/${name}`),
  );
  return placeFindings(findings, resources);
}

function formatLine(finding: PlacedFinding, places: FilePlaces): string {
  const { condition, cause } = finding;
  const reason = condition === undefined ? '' : ` (${condition.reason})`;
  const because = cause === undefined ? '' : `; because of ${formatCause(cause, places)}`;
  return `${formatField(finding, places)}${formatSubject(finding)}: ${formatMessage(finding)}${reason}${because}`;
}

/** "gateway.yaml:7:21 spec.gatewayClassName: ", to be put in front of a line; empty when neither is known. */
function formatField(field: PlacedField, places: FilePlaces): string {
  const place = [formatPlace(field, places), formatFieldPath(field.path)].filter((each) => each !== '').join(' ');
  return place === '' ? '' : `${place}: `;
}

function formatPlace(field: PlacedField, { locate, workingDirectory }: FilePlaces): string {
  const position = locateFinding(field, locate);
  return position === undefined ? '' : formatPosition(position, workingDirectory);
}

function formatCause(cause: NonNullable<PlacedFinding['cause']>, places: FilePlaces): string {
  const place = isInvalid(cause) ? '' : formatPlace(cause, places);
  return place === '' ? formatSubject({ part: '', ...cause }) : place;
}
