// How the rollout of a Gateway's pods gets on, as the deployer sees it.

/** Why a rollout is stuck: a closed list, for conditions and metrics. The message has the exact reason of the pod or of the Deployment. */
export const rolloutReasons = [
  'ImagePullBackOff',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'Unschedulable',
  'FailedCreate',
  'ProgressDeadlineExceeded',
] as const;

export type RolloutReason = (typeof rolloutReasons)[number];

/** A rollout that is under way or stuck. */
export interface Rollout {
  /** "1 of 2 pods are up to date and ready" */
  readonly progress: string;
  /** Pods that are ready, those of before too. */
  readonly ready: number;
  /** Undefined: it is simply under way. */
  readonly problem: RolloutProblem | undefined;
}

/** Why it does not get on. */
export interface RolloutProblem {
  readonly reason: RolloutReason;
  /** For the owner of the Gateway, without a full stop. The same words while the cause is the same. */
  readonly message: string;
}
