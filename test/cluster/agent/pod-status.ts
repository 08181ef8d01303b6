// What the agent tells the API server about a pod. Pure: the pod and its containers in, the status out.
import type { Pod } from './pod.ts';

/** Where a container is in its life, in the words of the API. */
export type ContainerPhase =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | { readonly terminated: Terminated };

/** How a run ended. */
export interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason: string;
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** One container as it is now. */
export interface ContainerSituation {
  readonly name: string;
  readonly image: string;
  readonly state: ContainerPhase;
  readonly lastState?: { readonly terminated: Terminated };
  readonly restartCount: number;
  /** The startup probe has succeeded, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
  /** It has ended and will not run again. */
  readonly isOver: boolean;
}

/** All that is known of a pod. */
export interface PodSituation {
  readonly pod: Pod;
  readonly nodeAddress: string;
  readonly address: string | undefined;
  readonly startedAt: Date;
  readonly initContainers: readonly ContainerSituation[];
  readonly containers: readonly ContainerSituation[];
  /** Since when each condition has had its value. */
  readonly conditionTimes: Map<string, { readonly status: string; readonly since: string }>;
}

/** The status subresource. */
export function describePod(situation: PodSituation): Readonly<Record<string, unknown>> {
  const { pod, address, containers, initContainers, conditionTimes } = situation;
  const phase = judgePhase(situation);
  const isInitialized = initContainers.every(({ isOver, state }) => isOver && hasSucceeded(state));
  const areReady = phase === 'Running' && containers.every(({ isReady }) => isReady);
  const isComplete = phase === 'Succeeded' || phase === 'Failed';
  const unready = containers.filter(({ isReady }) => !isReady).map(({ name }) => name);
  const why = isComplete
    ? { reason: 'PodCompleted' }
    : { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
  const describe = (type: string, isTrue: boolean, detail: object = {}): object => {
    const status = isTrue ? 'True' : 'False';
    const before = conditionTimes.get(type);
    const since = before?.status === status ? before.since : new Date().toISOString().replace(/\.\d+/, '');
    conditionTimes.set(type, { status, since });
    return { type, status, lastProbeTime: null, lastTransitionTime: since, ...(isTrue ? {} : detail) };
  };
  return {
    phase,
    hostIP: situation.nodeAddress,
    hostIPs: [{ ip: situation.nodeAddress }],
    ...(address === undefined ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    startTime: situation.startedAt.toISOString().replace(/\.\d+/, ''),
    observedGeneration: pod.metadata.generation,
    conditions: [
      describe('PodScheduled', true),
      describe('PodReadyToStartContainers', address !== undefined),
      describe('Initialized', isInitialized, { reason: 'ContainersNotInitialized' }),
      describe('ContainersReady', areReady, why),
      describe('Ready', areReady, why),
    ],
    ...(initContainers.length === 0
      ? {}
      : { initContainerStatuses: initContainers.map((each) => describeContainer(each)) }),
    containerStatuses: containers.map((each) => describeContainer(each)),
  };
}

function judgePhase({ containers, initContainers }: PodSituation): string {
  if (initContainers.some(({ isOver, state }) => isOver && !hasSucceeded(state))) return 'Failed';
  if (containers.length > 0 && containers.every(({ isOver }) => isOver)) {
    return containers.every(({ state }) => hasSucceeded(state)) ? 'Succeeded' : 'Failed';
  }
  const hasRun = containers.some(
    ({ state, restartCount }) => 'running' in state || 'terminated' in state || restartCount > 0,
  );
  return hasRun ? 'Running' : 'Pending';
}

function hasSucceeded(state: ContainerPhase): boolean {
  return 'terminated' in state && state.terminated.exitCode === 0;
}

function describeContainer(situation: ContainerSituation): object {
  const { name, image, state, lastState, restartCount, isStarted, isReady } = situation;
  return {
    name,
    image,
    imageID: `test://${image}`,
    state,
    lastState: lastState ?? {},
    restartCount,
    started: isStarted && 'running' in state,
    ready: isReady,
  };
}
