// The status of an HTTPRoute, parent by parent.
import { createCondition } from './conditions.ts';
import type { Condition, HttpRouteStatus, ParentReference as ParentReferenceStatus } from './conditions.ts';
import type { ParentReference } from '../api/parent-reference.ts';
import type { RouteParentResult } from './route-parents.ts';
import type { TranslatedRoute } from './routes.ts';

/** Whether a parent takes the route: it is attached, and at least one of its rules is served. */
export function isAccepted({ route, ruleProblems }: TranslatedRoute, parent: RouteParentResult): boolean {
  return parent.refusal === undefined && (ruleProblems.length === 0 || ruleProblems.length < route.spec.rules.length);
}

/** The status of a route; undefined when no parent is ours. */
export function describeRoute(translated: TranslatedRoute, controllerName: string): HttpRouteStatus | undefined {
  if (translated.parents.length === 0) return undefined;
  const generation = translated.route.metadata.generation ?? 0;
  return {
    parents: translated.parents.map((parent) => ({
      parentRef: copyParentRef(parent.parentRef),
      controllerName,
      conditions: [
        describeAccepted(translated, parent, generation),
        describeResolvedRefs(translated, generation),
        ...describePartiallyInvalid(translated, parent, generation),
      ],
    })),
  };
}

/** A parentRef as it stands in a status: without the members that were not set. */
export function copyParentRef({
  group,
  kind,
  namespace,
  name,
  sectionName,
  port,
}: ParentReference): ParentReferenceStatus {
  return {
    group,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(sectionName === undefined ? {} : { sectionName }),
    ...(port === undefined ? {} : { port }),
  };
}

function describeAccepted(translated: TranslatedRoute, parent: RouteParentResult, generation: number): Condition {
  const { refusal } = parent;
  if (refusal !== undefined)
    return createCondition('routeParent', 'Accepted', refusal.status, refusal.reason, refusal.message, generation);
  const [first] = translated.ruleProblems;
  if (first !== undefined && !isAccepted(translated, parent)) {
    const message = translated.ruleProblems.map((problem) => problem.message).join('; ');
    return createCondition(
      'routeParent',
      'Accepted',
      'False',
      first.reason,
      `${message}; requests are answered with 500`,
      generation,
    );
  }
  const listeners = parent.attachments.map(({ listener }) => listener.spec.name).join(', ');
  return createCondition(
    'routeParent',
    'Accepted',
    'True',
    'Accepted',
    `Attached to listener ${listeners}.`,
    generation,
  );
}

function describeResolvedRefs({ referenceProblems }: TranslatedRoute, generation: number): Condition {
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
function describePartiallyInvalid(
  translated: TranslatedRoute,
  parent: RouteParentResult,
  generation: number,
): readonly Condition[] {
  const [first] = translated.ruleProblems;
  if (first === undefined || !isAccepted(translated, parent)) return [];
  const indexes = translated.ruleProblems.map(({ ruleIndex }) => ruleIndex).join(', ');
  const details = translated.ruleProblems.map((problem) => problem.message).join('; ');
  const message = `Dropped Rule ${indexes}: requests that match are answered with 500. ${details}`;
  return [createCondition('routeParent', 'PartiallyInvalid', 'True', first.reason, message, generation)];
}
