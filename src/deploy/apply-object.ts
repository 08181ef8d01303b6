// Brings one object to what it is to be: made when it is absent, applied when it is this Gateway's, and never touched when it is somebody else's.
import { ApiError, type KubernetesClient, type KubernetesObject } from '../kubernetes/client.ts';
import type { ResourceType } from '../kubernetes/resource-type.ts';
import { isScaledByOthers, takeOverCreation } from './field-manager.ts';
import { isJson } from './merge-values.ts';
import type { RenderedObject } from './rendered-object.ts';

/** The Gateway that an object belongs to. */
export interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** What came of it. */
export type ApplyOutcome =
  | { readonly kind: 'applied'; readonly object: KubernetesObject }
  /** It is there, and not ours to change. */
  | { readonly kind: 'foreign'; readonly message: string }
  /** It goes away by itself, and then another can be made. */
  | { readonly kind: 'leaving'; readonly message: string };

export interface ApplyOptions {
  readonly client: KubernetesClient;
  readonly owner: Owner;
  /** A Deployment whose number of pods an autoscaler decides on. */
  readonly isAutoscaled: boolean;
  readonly signal: AbortSignal;
}

/** Somebody may create, replace or delete the object between our look at it and our write; each time it is looked at again. */
const maxLooks = 5;

/** Applies one object. Rejects with what the API server says. */
export async function applyObject({ type, object }: RenderedObject, options: ApplyOptions): Promise<ApplyOutcome> {
  const { client, owner, signal } = options;
  for (let look = 1; ; look++) {
    try {
      const live = await findObject(client, type, object, signal);
      if (live === undefined) return { kind: 'applied', object: await client.create(type, object, signal) };
      const obstacle = findObstacle(type, live, owner);
      if (obstacle !== undefined) return obstacle;
      return { kind: 'applied', object: await applyOver(live, { type, object }, options) };
    } catch (error) {
      if (look >= maxLooks || !isRace(error)) throw error;
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
    return { kind: 'leaving', message: `${what} is being deleted; it is made again when it is gone` };
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
  // With the uid it is the object that was looked at, or nothing happens.
  const preconditioned = { ...wanted, metadata: { ...wanted.metadata, ...(uid !== undefined && { uid }) } };
  return client.apply(type, preconditioned, { force: true }, signal);
}

/**
 * A field that is no longer applied by anybody falls back to its default: one pod. So we let go of it only when the autoscaler has it; until then it
 * stays what it is.
 */
function keepReplicas(object: KubernetesObject, live: KubernetesObject): KubernetesObject {
  const [wanted, seen] = [object['spec'], live['spec']];
  if (!isJson(wanted) || !isJson(seen) || wanted['replicas'] !== undefined) return object;
  if (isScaledByOthers(live) || seen['replicas'] === undefined) return object;
  return { ...object, spec: { ...wanted, replicas: seen['replicas'] } };
}
