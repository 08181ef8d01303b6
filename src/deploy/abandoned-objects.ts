// Objects of Gateways that are not ours any more. Those of Gateways that are gone the garbage collector takes; those of a Gateway that
// names another class now nobody would take.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { nameDeployed } from './deployed-names.ts';
import type { ManagedObject } from './managed-objects.ts';
import { isJson } from './merge-values.ts';

/**
 * Deletes what belongs to a Gateway and was made for another class than the one it names. The Gateway itself is asked for: what we have read of it may be
 * old, or its namespace may be one that we do not look at, and then everything stays. Rejects with what the API server says.
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
