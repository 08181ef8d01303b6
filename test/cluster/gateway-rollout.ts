// How deployed gateways follow their controller to another address: what their pods are told, and when the last of those before is gone.
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { readNamespace } from './file-namespace.ts';
import type { PodObject } from './observed-pod.ts';
import { locateResource, locateResources } from './resource-paths.ts';

/** The part of a pod's spec that the controller decides and tests read. */
export interface PodSpec {
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly serviceAccountName?: string;
  readonly containers: readonly [
    {
      readonly image: string;
      readonly imagePullPolicy?: string;
      readonly env: readonly { readonly name: string; readonly value?: string }[];
    },
  ];
}

/** The spec of a pod. */
export const readPodSpec = (pod: PodObject): PodSpec => pod['spec'] as PodSpec;

/** Where a pod of a gateway looks for its controller. */
export function findControllerUrl(pod: PodObject): string | undefined {
  return readPodSpec(pod).containers[0].env.find(({ name }) => name === 'MCP_GATEHOUSE_CONTROLLER')?.value;
}

interface Deployment extends ApiObject {
  readonly spec: { readonly replicas: number };
  readonly status: { readonly observedGeneration?: number; readonly availableReplicas?: number };
}

/** Waits until all pods of a Gateway look for their controller there, are ready, and those before have ended. */
export async function waitUntilFollowed(
  cluster: Cluster,
  name: string,
  controllerUrl: string,
  namespace = readNamespace(),
): Promise<void> {
  const label = encodeURIComponent(`gateway.networking.k8s.io/gateway-name=${name}`);
  const path = `${locateResources('Pod', namespace)}?labelSelector=${label}`;
  await cluster.waitFor(
    async () => {
      const { metadata, spec, status } = await cluster.api.get<Deployment>(
        locateResource({ kind: 'Deployment', name: `${name}-proxy`, namespace }),
      );
      const pods = await cluster.api.list<PodObject>(path);
      return (
        status.observedGeneration === metadata.generation &&
        status.availableReplicas === spec.replicas &&
        pods.length === spec.replicas &&
        pods.every((pod) => findControllerUrl(pod) === controllerUrl)
      );
    },
    { what: `all pods of Gateway ${namespace}/${name} look for ${controllerUrl}, and no others are left` },
  );
}
