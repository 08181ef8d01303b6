// Why a pod of a gateway does not start, read from its status. Pure.
import type { KubernetesObject } from '../kubernetes/client.ts';
import type { RolloutReason } from '../translate/rollout.ts';

/** Why a pod does not start. */
export interface PodProblem {
  readonly reason: RolloutReason;
  /** "container gateway: ImagePullBackOff: ..." */
  readonly message: string;
  /** Of an image that cannot be pulled: the error of the registry; older kubelets tell it only now and then. */
  readonly pullError?: string;
}

interface ContainerStatus {
  readonly name?: string;
  readonly image?: string;
  readonly restartCount?: number;
  readonly started?: boolean;
  readonly ready?: boolean;
  readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
  readonly lastState?: { readonly terminated?: Terminated };
}

interface Terminated {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly Readonly<Record<string, string | undefined>>[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

/** Reasons to wait that are no problem. */
const usualReasons: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);
const pullReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
/** Those alternate while the kubelet tries again; the second one is the usual name for both. */
const alternatingReasons: ReadonlySet<string> = new Set(['ErrImagePull', 'ImagePullBackOff']);

const longestDetail = 500;

/** Undefined: it runs, is starting, or is leaving. `before` is what was read of the same pod before. */
export function readPodProblem({ metadata, status }: KubernetesObject, before?: PodProblem): PodProblem | undefined {
  const { phase, conditions = [], initContainerStatuses = [], containerStatuses = [] } = (status ?? {}) as PodStatus;
  if (metadata.deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed') return undefined;
  const unscheduled = conditions.find(
    ({ type, status: value, reason }) => type === 'PodScheduled' && value === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled !== undefined)
    return { reason: 'Unschedulable', message: joinWords('Unschedulable', unscheduled['message']) };
  for (const container of [...initContainerStatuses, ...containerStatuses]) {
    const problem = readContainer(container, before);
    if (problem !== undefined) return { ...problem, message: `container ${container.name}: ${problem.message}` };
  }
  return undefined;
}

function readContainer(container: ContainerStatus, before: PodProblem | undefined): PodProblem | undefined {
  const { state, restartCount = 0 } = container;
  const { reason = '', message } = state?.waiting ?? {};
  if (pullReasons.has(reason)) return describePull(container, reason, message, before);
  if (isCrashing(container, reason, restartCount))
    return { reason: 'CrashLoopBackOff', message: joinWords('CrashLoopBackOff', describeEnd(container.lastState)) };
  // The kubelet starts a container again at once after its first crash: that is no loop yet.
  if (reason === '' || reason === 'CrashLoopBackOff' || usualReasons.has(reason)) return undefined;
  const isConfiguration = reason === 'CreateContainerConfigError';
  return {
    reason: isConfiguration ? 'CreateContainerConfigError' : 'CreateContainerError',
    message: joinWords(reason, message),
  };
}

/** A container that crashes again and again also counts between two crashes, until it has started. */
function isCrashing(
  { started, ready, state, lastState }: ContainerStatus,
  reason: string,
  restartCount: number,
): boolean {
  if (reason === 'CrashLoopBackOff') return restartCount >= 1;
  const isStarting = state?.waiting === undefined && started === false && ready !== true;
  return isStarting && restartCount >= 2 && (lastState?.terminated?.exitCode ?? 0) !== 0;
}

function describeEnd(lastState: ContainerStatus['lastState']): string {
  const { exitCode, reason, message } = lastState?.terminated ?? {};
  if (exitCode === undefined) return 'it ends again and again';
  const why = reason === undefined || reason === 'Error' ? '' : ` (${reason})`;
  return joinWords(`it ended with exit code ${exitCode}${why}`, message);
}

function describePull(
  { image = '' }: ContainerStatus,
  reason: string,
  message: string | undefined,
  before: PodProblem | undefined,
): PodProblem {
  const said = findPullError(reason, message);
  const pullError = said === '' ? (before?.pullError ?? '') : said;
  const name = alternatingReasons.has(reason) ? 'ImagePullBackOff' : reason;
  return {
    reason: 'ImagePullBackOff',
    message: joinWords(`${name}: image ${image} cannot be pulled`, pullError),
    pullError,
  };
}

/** The error of the registry. `Back-off pulling image "a": ErrImagePull: not found` has it at its end, in some versions. */
function findPullError(reason: string, message = ''): string {
  if (reason !== 'ImagePullBackOff') return cut(message);
  return cut(message.replace(/^Back-off pulling image "[^"]*"(?:: )?(?:ErrImagePull: )?/, ''));
}

function joinWords(words: string, detail: string | undefined): string {
  const text = cut(detail ?? '');
  return text === '' ? words : `${words}: ${text}`;
}

function cut(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return line.length > longestDetail ? `${line.slice(0, longestDetail - 1)}…` : line;
}
