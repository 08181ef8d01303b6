// Deletes objects of Gateways that are no longer ours. Kubernetes collects the objects of a deleted Gateway, but not those of a Gateway that now names
// another class.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { nameDeployed } from './deployed-names.ts';
import type { ManagedObject } from './managed-objects.ts';
import { isJson } from './merge-values.ts';

/**
 * Deletes the objects of a Gateway that were made for another class than the one it names now. Reads the Gateway from the API server first: our cache may
 * be outdated, or may not cover its namespace. Rejects with the error of the API server.
 */
export async function removeAbandoned(
  client: KubernetesClient,
  objects: readonly ManagedObject[],
  signal: AbortSignal,
): Promise<readonly ManagedObject[]> {
  const removed: ManagedObject[] = [];
  for (const object of objects) {
    const gateway = await findGateway(client, object, signal);
    if (gateway === undefined || gateway.metadata.uid !== object.owner.uid) continue;
    const className = isJson(gateway['spec']) ? gateway['spec']['gatewayClassName'] : undefined;
    if (typeof className !== 'string' || nameDeployed(object.owner.name, className) === object.name) continue;
    await client.delete(object.type, object, { uid: object.uid }, signal);
    removed.push(object);
  }
  return removed;
}

async function findGateway(
  client: KubernetesClient,
  { namespace, owner }: ManagedObject,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(resourceTypes.Gateway, { namespace, name: owner.name }, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status.reason === 'NotFound') return undefined;
    throw error;
  }
}
