// Whether the pods of a Deployment are up to date and ready, and if not, whether that is on its way or stuck. Pure.
import type { KubernetesObject } from '../kubernetes/client.ts';
import type { Rollout, RolloutProblem } from '../translate/rollout.ts';
import type { FailingPod } from './failing-pods.ts';
import { isJson } from './merge-values.ts';

/** The state of a Deployment's pods, as its status has it. */
export interface SeenDeployment {
  /** Whether the status is about the present spec. */
  readonly isObserved: boolean;
  /** How many pods there should be, and how many there are. */
  readonly wanted: number;
  readonly total: number;
  /** Pods of the present template. */
  readonly updated: number;
  /** Pods that are ready, old ones too. */
  readonly available: number;
  /** The conditions that report a failure. */
  readonly failures: readonly { readonly reason: string; readonly message: string }[];
}

/** Reads a Deployment; undefined: nobody has written its status yet. */
export function readDeployment({ metadata, spec, status }: KubernetesObject): SeenDeployment | undefined {
  if (!isJson(status) || typeof status['observedGeneration'] !== 'number') return undefined;
  const read = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isJson) : [];
  return {
    isObserved: status['observedGeneration'] >= (metadata.generation ?? 0),
    wanted: read(isJson(spec) ? spec['replicas'] : undefined, 1),
    total: read(status['replicas'], 0),
    updated: read(status['updatedReplicas'], 0),
    available: read(status['availableReplicas'], 0),
    failures: conditions
      .filter(
        ({ type, status: value, reason }) =>
          (type === 'ReplicaFailure' && value === 'True') ||
          (type === 'Progressing' && value === 'False' && reason === deadlineReason),
      )
      .map(({ reason, message }) => ({ reason: readText(reason), message: readText(message).replace(/\.$/, '') })),
  };
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

const deadlineReason = 'ProgressDeadlineExceeded';

/** Undefined: all pods are up to date and ready. `name` is that of the Deployment. */
export function describeRollout(
  name: string,
  deployment: SeenDeployment,
  failing: readonly FailingPod[],
): Rollout | undefined {
  const { isObserved, wanted, total, updated, available, failures } = deployment;
  if (isObserved && updated >= wanted && available >= wanted && total === updated) return undefined;
  // Pods of before count as ready: they are replaced only by pods that are.
  const done = isObserved ? Math.min(Math.max(available - (total - updated), 0), wanted) : 0;
  const problem = findProblem(name, deployment, failing);
  const isLate = failures.some(({ reason }) => reason === deadlineReason) && problem?.reason !== deadlineReason;
  const late = isLate ? `, and Deployment ${name} says ${deadlineReason}` : '';
  return { progress: `${done} of ${wanted} pods are up to date and ready${late}`, ready: available, problem };
}

/** A pod says most exactly why; without one the Deployment does. */
function findProblem(
  name: string,
  { isObserved, failures }: SeenDeployment,
  [pod]: readonly FailingPod[],
): RolloutProblem | undefined {
  if (pod !== undefined) return { reason: pod.problem.reason, message: `pod ${pod.name}, ${pod.problem.message}` };
  // Conditions of an earlier spec say nothing about the present one.
  if (!isObserved) return undefined;
  const failure = failures.find(({ reason }) => reason !== deadlineReason) ?? failures[0];
  if (failure === undefined) return undefined;
  return {
    reason: failure.reason === deadlineReason ? deadlineReason : 'FailedCreate',
    message: `Deployment ${name}: ${failure.reason}: ${failure.message}`,
  };
}
