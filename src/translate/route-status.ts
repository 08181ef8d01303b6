// The status of an HTTPRoute, parent by parent.
import {
  createCondition,
  type Condition,
  type HttpRouteStatus,
  type ParentReference as ParentReferenceStatus,
} from './conditions.ts';
import type { ParentReference } from '../api/parent-reference.ts';
import type { BackendProblem } from './backends.ts';
import type { RouteParentResult } from './route-parents.ts';

/** Why a rule is invalid. */
export interface RuleProblem {
  readonly ruleIndex: number;
  readonly reason: 'UnsupportedValue' | 'IncompatibleFilters';
  readonly message: string;
}

/** What the status of a route says, parents aside. */
interface RouteFindings {
  readonly generation: number;
  /** How many rules it has. */
  readonly rules: number;
  readonly ruleProblems: readonly RuleProblem[];
  readonly referenceProblems: readonly BackendProblem[];
}

/** Whether a parent takes the route: it is attached, and at least one of its rules is served. */
export function isAccepted({ rules, ruleProblems }: RouteFindings, parent: RouteParentResult): boolean {
  return parent.refusal === undefined && (ruleProblems.length === 0 || ruleProblems.length < rules);
}

/** The status of a route; undefined when no parent is ours. */
export function describeRoute(
  findings: RouteFindings,
  parents: readonly RouteParentResult[],
  controllerName: string,
): HttpRouteStatus | undefined {
  if (parents.length === 0) return undefined;
  const resolvedRefs = describeResolvedRefs(findings);
  return {
    parents: parents.map((parent) => ({
      parentRef: copyParentRef(parent.parentRef),
      controllerName,
      conditions: [describeAccepted(findings, parent), resolvedRefs, ...describePartiallyInvalid(findings, parent)],
    })),
  };
}

/** A parentRef as it stands in a status: without the members that were not set. */
function copyParentRef({ group, kind, namespace, name, sectionName, port }: ParentReference): ParentReferenceStatus {
  return {
    group,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(sectionName === undefined ? {} : { sectionName }),
    ...(port === undefined ? {} : { port }),
  };
}

function describeAccepted(findings: RouteFindings, parent: RouteParentResult): Condition {
  const { refusal } = parent;
  const { generation, ruleProblems } = findings;
  if (refusal !== undefined)
    return createCondition('routeParent', 'Accepted', refusal.status, refusal.reason, refusal.message, generation);
  const [first] = ruleProblems;
  if (first !== undefined && !isAccepted(findings, parent)) {
    const message = ruleProblems.map((problem) => problem.message).join('; ');
    return createCondition(
      'routeParent',
      'Accepted',
      'False',
      first.reason,
      `${message}; requests are answered with 500`,
      generation,
    );
  }
  const listeners = parent.attachments.map(({ listener }) => listener.name).join(', ');
  return createCondition(
    'routeParent',
    'Accepted',
    'True',
    'Accepted',
    `Attached to listener ${listeners}.`,
    generation,
  );
}

function describeResolvedRefs({ generation, referenceProblems }: RouteFindings): Condition {
  const [first] = referenceProblems;
  if (first === undefined)
    return createCondition(
      'routeParent',
      'ResolvedRefs',
      'True',
      'ResolvedRefs',
      'All references are resolved.',
      generation,
    );
  const message = referenceProblems.map((problem) => problem.message).join('; ');
  return createCondition('routeParent', 'ResolvedRefs', 'False', first.reason, message, generation);
}

// "MUST NOT be set if a Route is fully valid, fully invalid, or not accepted"; the prefix "Dropped Rule" is the specification's.
function describePartiallyInvalid(findings: RouteFindings, parent: RouteParentResult): readonly Condition[] {
  const { generation, ruleProblems } = findings;
  const [first] = ruleProblems;
  if (first === undefined || !isAccepted(findings, parent)) return [];
  const indexes = ruleProblems.map(({ ruleIndex }) => ruleIndex).join(', ');
  const details = ruleProblems.map((problem) => problem.message).join('; ');
  const message = `Dropped Rule ${indexes}: requests that match are answered with 500. ${details}`;
  return [createCondition('routeParent', 'PartiallyInvalid', 'True', first.reason, message, generation)];
}
