// The problems that `check` reports, causes first: those of files and fields, those of resources that are valid as such, and what follows from either. Pure.
import { formatFieldPath } from '../api/problem.ts';
import type { InvalidResource } from '../api/resources.ts';
import { type ResourceIdentity, type SourcePosition, type SourceProblem } from '../sources/resource-source.ts';
import type { UnattachedPolicy } from '../translate/close-unprotected.ts';
import { isInvalid, type PlacedFinding } from './finding-causes.ts';
import { type FieldPath, removePath } from './finding-field.ts';
import type { OnlineReport, ServerReport } from './online/online-report.ts';
import type { StatusFinding } from './status-findings.ts';
import { effectOfUnattached, isAboutUnattached } from './unattached-policies.ts';

/** One problem. Members that do not apply are null, or empty for `path`. */
export interface CheckProblem {
  /** Absolute path. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly kind: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly path: string;
  /** Of a resource or file: as in SourceProblemCode. `condition`, `not_served`, `unusable`: what became of a valid one. */
  readonly code: string;
  readonly message: string;
  /** The index of the problem that this one follows from; null: it is a cause itself, as far as can be told. */
  readonly causedBy: number | null;
}

/** The position of a resource or one of its fields. */
export type Locate = (identity: ResourceIdentity, path?: FieldPath) => SourcePosition | undefined;

/** A field of a resource. */
export interface PlacedField extends ResourceIdentity {
  readonly path: FieldPath;
}

const nowhere = {
  file: null,
  line: null,
  column: null,
  kind: null,
  namespace: null,
  name: null,
  path: '',
} as const;

/** Each problem is followed by those that follow from it. Those about policies in `unattached` say what these close. */
export function listProblems(
  ofSource: readonly SourceProblem[],
  findings: readonly PlacedFinding[],
  locate: Locate,
  unattached: readonly UnattachedPolicy[] = [],
): CheckProblem[] {
  const problems: CheckProblem[] = [];
  const pending = new Set(findings);
  const describe = (finding: PlacedFinding): CheckProblem =>
    describeFinding(finding, isAboutUnattached(finding, unattached) ? `. ${effectOfUnattached}` : '', locate);
  const addConsequences = (isCause: (cause: NonNullable<PlacedFinding['cause']>) => boolean): void => {
    const causedBy = problems.length - 1;
    for (const finding of pending) {
      if (finding.cause === undefined || !isCause(finding.cause)) continue;
      pending.delete(finding);
      problems.push({ ...describe(finding), causedBy });
    }
  };
  for (const [index, problem] of ofSource.entries()) {
    problems.push(describeSourceProblem(problem));
    if (!ofSource.slice(index + 1).some((later) => isSameResource(later, problem)))
      addConsequences((cause) => isInvalid(cause) && isSameResource(cause, problem));
  }
  for (const finding of pending) {
    if (finding.cause !== undefined && !isInvalid(finding.cause)) continue;
    pending.delete(finding);
    problems.push(describe(finding));
    addConsequences((cause) => cause === finding);
  }
  return problems;
}

/** A wrong kind is known as what it was probably meant to be, and reported as it is written. */
function isSameResource(left: SourceProblem | InvalidResource, right: SourceProblem): boolean {
  if (left.name === undefined || left.name !== right.name || left.namespace !== right.namespace) return false;
  return left.kind === right.kind || right.path[0] === 'kind';
}

function describeSourceProblem(problem: SourceProblem): CheckProblem {
  const {
    file,
    line = null,
    column = null,
    kind = null,
    namespace = null,
    name = null,
    code,
    message,
    consequence,
  } = problem;
  const text = consequence === undefined ? message : `${message} (${consequence})`;
  const path = formatFieldPath(problem.path);
  return { file, line, column, kind, namespace, name, path, code, message: text, causedBy: null };
}

function describeFinding(finding: PlacedFinding, effect: string, locate: Locate): CheckProblem {
  const { kind, namespace, name, condition, path } = finding;
  const state = condition === undefined ? '' : ` (${condition.type} is ${condition.status}: ${condition.reason})`;
  return {
    ...nowhere,
    ...locateFinding(finding, locate),
    kind,
    namespace,
    name,
    path: formatFieldPath(path),
    code: condition === undefined ? 'not_served' : 'condition',
    message: `${formatSubject(finding)}: ${formatMessage(finding)}${state}${effect}`,
    causedBy: null,
  };
}

/** A finding about no field in particular is at the name of its resource. */
export function locateFinding(field: PlacedField, locate: Locate): SourcePosition | undefined {
  return locate(field, field.path.length === 0 ? ['metadata', 'name'] : field.path);
}

/** Without the path, which is shown in front of it, and without the problems of another resource, which are reported on their own. */
export function formatMessage({ message, cause }: PlacedFinding): string {
  const text = removePath(message).replace(/(?<![.?!])\.$/, '');
  if (cause === undefined) return text;
  if (!isInvalid(cause)) return text.replace(`: ${cause.message}`, ' cannot be used');
  return text.replace(/ exists (?:in namespace \S+, )?but is invalid: .*/s, ' is invalid');
}

/** What the request path cannot use of a configuration. */
export function describeUnusable({ key, message }: { readonly key: string; readonly message: string }): CheckProblem {
  return { ...nowhere, code: 'unusable', message: `${key}: ${message}`, causedBy: null };
}

/** What has a cross is a problem of the policy. */
export function describeCrosses({ policy, provider, findings }: OnlineReport, locate: Locate): CheckProblem[] {
  const [namespace = '', name = ''] = policy.split('/');
  const identity = { kind: 'ProxyPolicy', namespace, name };
  return findings.flatMap(({ check, mark, text, advice }) =>
    mark === 'bad'
      ? [
          {
            ...nowhere,
            ...locate(identity),
            ...identity,
            code: 'identity_provider',
            message: `ProxyPolicy ${policy}${provider === null ? '' : `, provider ${provider}`}: ${check}: ${text}${advice === null ? '' : ` ${advice}`}`,
            causedBy: null,
          },
        ]
      : [],
  );
}

/** What has a cross is a problem of the ProxyBackend. */
export function describeServerCrosses(
  { backend, target, url, findings }: ServerReport,
  locate: Locate,
): CheckProblem[] {
  const [, kind = '', namespace = '', name = ''] = /^(\S+) ([^/]+)\/(.+)$/.exec(backend) ?? [];
  const identity = { kind, namespace, name };
  return findings.flatMap(({ check, mark, text, advice }) =>
    mark === 'bad'
      ? [
          {
            ...nowhere,
            ...locate(identity),
            ...identity,
            code: 'mcp_server',
            message:
              `${backend}${target === null ? '' : `, target ${target},`} at ${url}: ${check}: ${text}. ${advice ?? ''}`.trimEnd(),
            causedBy: null,
          },
        ]
      : [],
  );
}

/** "Gateway default/public, listener http". */
export function formatSubject({
  kind,
  namespace,
  name,
  part,
}: Pick<StatusFinding, 'kind' | 'namespace' | 'name' | 'part'>): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`}${part === '' ? '' : `, ${part}`}`;
}
