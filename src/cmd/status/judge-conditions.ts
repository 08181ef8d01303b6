// Conditions as they stand in a resource -> whether they are as they should be. Anything may be in a status: others write there too.
import { type ConditionSubject, conditionReasons } from '../../translate/conditions.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { isBadCondition } from '../status-findings.ts';
import type { StatusCondition, StatusState } from './status-report.ts';

/** What the conditions of one part of a resource say. */
export interface JudgedConditions {
  readonly state: StatusState;
  readonly conditions: readonly StatusCondition[];
}

/** Conditions that have to be there to tell whether the part works. */
const expectedTypes: Readonly<Record<ConditionSubject, readonly string[]>> = {
  gatewayClass: ['Accepted'],
  gateway: ['Accepted', 'Programmed'],
  listener: ['Accepted', 'Programmed'],
  routeParent: ['Accepted', 'ResolvedRefs'],
  proxyBackend: ['Accepted'],
  policyAncestor: ['Accepted', 'Attached', 'Programmed'],
  inferencePoolParent: ['Accepted', 'ResolvedRefs'],
};

/** Judges those conditions that this controller writes; `generation` is the one of the resource. */
export function judgeConditions(
  subject: ConditionSubject,
  status: unknown,
  generation: number | undefined,
): JudgedConditions {
  const known: readonly string[] = Object.keys(conditionReasons[subject]);
  const conditions: StatusCondition[] = [];
  for (const raw of readList(status, 'conditions') ?? []) {
    const condition = readCondition(raw, generation);
    if (condition !== undefined && known.includes(condition.type)) conditions.push(condition);
  }
  return { state: findState(subject, conditions), conditions };
}

/** The worst of them; well when there is none. */
export function combineStates(states: readonly StatusState[]): StatusState {
  for (const state of ['unwell', 'stale', 'untouched'] as const) if (states.includes(state)) return state;
  return 'well';
}

/** A condition by its type. */
export function findCondition(conditions: readonly StatusCondition[], type: string): StatusCondition | undefined {
  return conditions.find((condition) => condition.type === type);
}

function findState(subject: ConditionSubject, conditions: readonly StatusCondition[]): StatusState {
  const expected = expectedTypes[subject];
  if (!conditions.some(({ type }) => expected.includes(type))) return 'untouched';
  if (conditions.some(({ stale }) => stale)) return 'stale';
  if (conditions.some(({ good }) => !good)) return 'unwell';
  return expected.every((type) => findCondition(conditions, type) !== undefined) ? 'well' : 'unwell';
}

/** Undefined: not a condition, or one that the CRD put there before any controller came. */
function readCondition(raw: unknown, generation: number | undefined): StatusCondition | undefined {
  const type = readText(raw, 'type');
  const status = readText(raw, 'status');
  if (type === undefined || (status !== 'True' && status !== 'False' && status !== 'Unknown')) return undefined;
  if (status === 'Unknown' && readText(raw, 'lastTransitionTime')?.startsWith('1970-01-01T00:00:00') === true)
    return undefined;
  const observed = readMember(raw, 'observedGeneration');
  return {
    type,
    status,
    reason: readText(raw, 'reason') ?? '',
    message: readText(raw, 'message') ?? '',
    stale: generation !== undefined && typeof observed === 'number' && observed < generation,
    good: !isBadCondition({ type, status }),
  };
}
