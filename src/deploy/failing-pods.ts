// Watches the pods of deployed gateways, for the reasons why they do not start. Of each pod only its problem is kept.
import type { Log } from '../base/log.ts';
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';
import { type ListWatchOptions, type RelistReason, startListWatch } from '../kubernetes/list-watch.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { managedBy, managedByLabel } from './deployed-names.ts';
import { type PodProblem, readPodProblem } from './pod-problem.ts';

/** A pod that does not start. */
export interface FailingPod {
  readonly name: string;
  readonly problem: PodProblem;
}

interface FailingPodsOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  /** The problems of a Deployment's pods have changed. */
  readonly onChange: (namespace: string, deployment: string) => void;
  /** All pods have been listed, or cannot be. */
  readonly onSettled: () => void;
  readonly onRelist?: ((kind: string, reason: RelistReason) => void) | undefined;
  readonly timing?: ListWatchOptions['timing'];
}

export interface FailingPods {
  /** Whether pods have been listed, or cannot be: until then an earlier problem may still be there. */
  readonly isSettled: boolean;
  /** The pods of a Deployment that do not start, by name. */
  listFailing(namespace: string, deployment: string): readonly FailingPod[];
  stop(): Promise<void>;
}

/** Starts to watch. Without the right to do so nothing is known of pods; Deployments still tell when a rollout is stuck. */
export function watchFailingPods(options: FailingPodsOptions): FailingPods {
  const { client, log, onChange, onSettled, onRelist, timing } = options;
  let isSettled = false;
  /** By namespace and Deployment, then by pod. Pods without a problem are left out. */
  const failing = new Map<string, Map<string, PodProblem>>();
  /** The Deployment of each pod in `failing`, by namespace and pod: a deletion comes without its owner. */
  const deployments = new Map<string, string>();

  const note = (namespace: string, deployment: string, pod: string, problem: PodProblem | undefined): void => {
    const key = formatKey(namespace, deployment);
    const pods = failing.get(key) ?? new Map<string, PodProblem>();
    const before = pods.get(pod);
    if (problem === undefined) {
      pods.delete(pod);
      deployments.delete(formatKey(namespace, pod));
    } else {
      pods.set(pod, problem);
      deployments.set(formatKey(namespace, pod), deployment);
    }
    if (pods.size === 0) failing.delete(key);
    else failing.set(key, pods);
    if (before?.message !== problem?.message) onChange(namespace, deployment);
  };

  const watch = startListWatch({
    client,
    type: resourceTypes.Pod,
    log,
    scope: { labelSelector: `${managedByLabel}=${managedBy}` },
    ...(timing !== undefined && { timing }),
    onChange(pod) {
      const { namespace = '', name } = pod.metadata;
      const deployment = findDeployment(pod);
      if (deployment === undefined) return;
      const before = failing.get(formatKey(namespace, deployment))?.get(name);
      note(namespace, deployment, name, readPodProblem(pod, before));
    },
    onGone({ metadata: { namespace = '', name } }) {
      const deployment = deployments.get(formatKey(namespace, name));
      if (deployment !== undefined) note(namespace, deployment, name, undefined);
    },
    onState(sync) {
      if (sync.state === 'failing')
        log.warn({ reason: sync.reason }, 'the pods of gateways cannot be watched; why they do not start is not told');
      if (isSettled || sync.state === 'syncing') return;
      isSettled = true;
      onSettled();
    },
    onRelist: (reason) => onRelist?.(resourceTypes.Pod.kind, reason),
  });

  return {
    get isSettled() {
      return isSettled;
    },
    listFailing: (namespace, deployment) =>
      Array.from(failing.get(formatKey(namespace, deployment)) ?? [], ([name, problem]) => ({
        name,
        problem,
      })).toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    stop: () => watch.stop(),
  };
}

/** A ReplicaSet is named after its Deployment and the hash of the pods' template. */
function findDeployment({ metadata }: KubernetesObject): string | undefined {
  const hash = metadata.labels?.['pod-template-hash'];
  const owner = metadata.ownerReferences?.find(({ kind, controller }) => kind === 'ReplicaSet' && controller === true);
  if (hash === undefined || owner?.name.endsWith(`-${hash}`) !== true) return undefined;
  return owner.name.slice(0, -hash.length - 1);
}

function formatKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
