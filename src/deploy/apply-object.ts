// Brings one object to its desired state: creates it when it is missing, applies it when this Gateway owns it, and never touches an object of another owner.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { ResourceType } from '../kubernetes/resource-type.ts';
import { isScaledByOthers, takeOverCreation } from './field-manager.ts';
import { isJson } from './merge-values.ts';
import type { RenderedObject } from './rendered-object.ts';

/** The Gateway that an object belongs to. */
interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** The result of applying an object. */
type ApplyOutcome =
  | { readonly kind: 'applied'; readonly object: KubernetesObject }
  /** It exists and does not belong to the Gateway. */
  | { readonly kind: 'foreign'; readonly message: string }
  /** It is being deleted; afterwards it can be created again. */
  | { readonly kind: 'leaving'; readonly message: string };

interface ApplyOptions {
  readonly client: KubernetesClient;
  readonly owner: Owner;
  /** Whether an autoscaler decides the number of pods. */
  readonly isAutoscaled: boolean;
  readonly signal: AbortSignal;
}

/** Someone may create, replace or delete the object between our read and our write; then it is read again, up to this often. */
const maxAttempts = 5;

/** Applies one object. Rejects with the error of the API server. */
export async function applyObject({ type, object }: RenderedObject, options: ApplyOptions): Promise<ApplyOutcome> {
  const { client, owner, signal } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      const live = await findObject(client, type, object, signal);
      if (live === undefined) return { kind: 'applied', object: await client.create(type, object, signal) };
      const obstacle = findObstacle(type, live, owner);
      if (obstacle !== undefined) return obstacle;
      return { kind: 'applied', object: await applyOver(live, { type, object }, options) };
    } catch (error) {
      if (attempt >= maxAttempts || !isRace(error)) throw error;
    }
  }
}

async function findObject(
  client: KubernetesClient,
  type: ResourceType,
  { metadata }: KubernetesObject,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(type, metadata, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status.reason === 'NotFound') return undefined;
    throw error;
  }
}

function isRace(error: unknown): boolean {
  return error instanceof ApiError && ['AlreadyExists', 'Conflict', 'NotFound'].includes(error.status.reason);
}

function findObstacle(
  type: ResourceType,
  { metadata }: KubernetesObject,
  owner: Owner,
): Exclude<ApplyOutcome, { readonly kind: 'applied' }> | undefined {
  const what = `${type.kind} ${metadata.namespace}/${metadata.name}`;
  const owners = metadata.ownerReferences ?? [];
  if (owners.some(({ uid, controller }) => uid === owner.uid && controller === true)) {
    if (metadata.deletionTimestamp === undefined) return undefined;
    return { kind: 'leaving', message: `${what} is being deleted; it will be created again afterwards` };
  }
  if (owners.some(({ kind, name }) => kind === 'Gateway' && name === owner.name))
    return {
      kind: 'leaving',
      message: `${what} belongs to an earlier Gateway of this name, and is still being removed`,
    };
  return { kind: 'foreign', message: `${what} exists and does not belong to this Gateway` };
}

async function applyOver(
  live: KubernetesObject,
  { type, object }: RenderedObject,
  { client, isAutoscaled, signal }: ApplyOptions,
): Promise<KubernetesObject> {
  const { uid, resourceVersion } = live.metadata;
  const managedFields = takeOverCreation(live);
  if (managedFields !== undefined)
    await client.mergePatch(type, object.metadata, { metadata: { uid, resourceVersion, managedFields } }, signal);
  const wanted = isAutoscaled && type.kind === 'Deployment' ? keepReplicas(object, live) : object;
  // The uid is a precondition: the write applies only to the object that was read.
  const preconditioned = { ...wanted, metadata: { ...wanted.metadata, ...(uid !== undefined && { uid }) } };
  return client.apply(type, preconditioned, { force: true }, signal);
}

/**
 * A field without any owner falls back to its default: one pod. So we give up `replicas` only when the autoscaler owns it; until then we apply the
 * present value.
 */
function keepReplicas(object: KubernetesObject, live: KubernetesObject): KubernetesObject {
  const [wanted, seen] = [object['spec'], live['spec']];
  if (!isJson(wanted) || !isJson(seen) || wanted['replicas'] !== undefined) return object;
  if (isScaledByOthers(live) || seen['replicas'] === undefined) return object;
  return { ...object, spec: { ...wanted, replicas: seen['replicas'] } };
}
