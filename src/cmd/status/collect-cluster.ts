// Reads the cluster once. A kind that may not be read, or is not installed, is an outcome; no answer at all is an error.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../../kubernetes/client.ts';
import { type ResourceType, resourceTypes } from '../../kubernetes/resource-type.ts';
import {
  type ClusterView,
  type ControllerKind,
  controllerKinds,
  findScope,
  type KindView,
  type StatusKind,
  statusKinds,
} from './cluster-view.ts';

interface CollectOptions {
  readonly client: KubernetesClient;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  readonly controllerNamespace: string;
  readonly signal?: AbortSignal | undefined;
}

/** Lists every kind. Rejects with an ApiUnreachableError, or an ApiError when the credentials are not accepted. */
export async function collectCluster({
  client,
  namespace,
  controllerNamespace,
  signal,
}: CollectOptions): Promise<ClusterView> {
  const where = { namespace, controllerNamespace };
  const kinds = await Promise.all(
    [...statusKinds, ...controllerKinds].map(async (kind): Promise<[StatusKind | ControllerKind, KindView]> => [
      kind,
      await readKind(client, resourceTypes[kind], findScope(kind, where), signal),
    ]),
  );
  return { server: client.server, ...where, kinds: Object.fromEntries(kinds) as unknown as ClusterView['kinds'] };
}

/** Reads one kind, page by page. */
export async function readKind(
  client: KubernetesClient,
  type: ResourceType,
  namespace: string | undefined,
  signal?: AbortSignal,
): Promise<KindView> {
  try {
    return { state: 'read', objects: await listAll(client, type, namespace, signal) };
  } catch (error) {
    // 401 is about who we are, not about the kind: nothing else could be read either.
    if (!(error instanceof ApiError) || error.status.code === 401) throw error;
    if (error.status.code === 404) return { state: 'not-installed' };
    const { message } = error.status;
    return error.status.code === 403 ? { state: 'forbidden', message } : { state: 'failed', message };
  }
}

async function listAll(
  client: KubernetesClient,
  type: ResourceType,
  namespace: string | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  let next: string | undefined;
  do {
    try {
      const page = await client.list(type, { namespace }, { continue: next }, signal);
      objects.push(...page.items);
      next = page.continue;
    } catch (error) {
      // The rest of the list is forgotten on the server. In one piece it cannot be.
      if (next === undefined || !(error instanceof ApiError) || error.status.code !== 410) throw error;
      return (await client.list(type, { namespace }, { limit: 0 }, signal)).items;
    }
  } while (next !== undefined);
  return objects;
}
