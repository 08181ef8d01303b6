// The resources of a cluster, read once: what `explain --from-cluster` stands on. What may not be read and decides nothing is stood in for, and told.
import { controllerName } from '../../api/gateway-class.ts';
import { type Extension, type Kind, type KindDefinition, kinds, listKinds } from '../../api/kinds.ts';
import type { Resources } from '../../api/resources.ts';
import { ApiError, type KubernetesClient, type KubernetesObject } from '../../kubernetes/client.ts';
import { type ResourceType, resourceTypes } from '../../kubernetes/resource-type.ts';
import { collectResources, type SnapshotEntry } from '../../sources/resource-snapshot.ts';
import { validateResource } from '../../sources/validate.ts';
import type { KindView } from '../status/cluster-view.ts';
import { readKind } from '../status/collect-cluster.ts';
import { listReferencedObjects, type ReferencedObject } from './referenced-entries.ts';
import { createStandIn } from './stand-in-objects.ts';

/** What was read, or why an answer would be wrong. */
type ReadCluster =
  | {
      readonly ok: true;
      readonly resources: Resources;
      /** What could not be known. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads everything. Rejects when there is no API server, or it refuses the credentials. */
export async function readCluster(
  client: KubernetesClient,
  /** Undefined: all of them. */
  namespace: string | undefined,
  /** Whose kinds are read beside the others. */
  extensions: readonly Extension[],
): Promise<ReadCluster> {
  // Secrets and ConfigMaps one by one, later: most of them are none of our business.
  const listed = listKinds(extensions).filter((kind) => kind !== 'Secret' && kind !== 'ConfigMap');
  const views = await Promise.all(
    listed.map(async (kind) => ({
      kind,
      view: await readVersions(client, kind, kinds[kind].namespaced ? namespace : undefined),
    })),
  );
  const objects: KubernetesObject[] = [];
  const notes: string[] = [];
  const problems: string[] = [];
  if (namespace !== undefined)
    notes.push(
      `Only namespace ${namespace} was read; what is in others, and refers to it or is referred to, is not known.`,
    );
  for (const { kind, view } of views) {
    switch (view.state) {
      case 'read':
        objects.push(...view.objects);
        break;
      case 'not-installed':
        if (kind === 'Gateway' || kind === 'HTTPRoute')
          problems.push(`the cluster has no kind ${kind}: the Gateway API is not installed`);
        break;
      case 'forbidden':
        if (kind === 'GatewayClass') {
          objects.push(assumeClass());
          notes.push('GatewayClasses may not be read; the class proxy is taken as the one of this controller.');
        } else if (kind === 'Namespace')
          notes.push(
            'Namespaces may not be read; listeners that select namespaces by labels are taken to select none.',
          );
        else problems.push(`${view.message}; without the kind ${kind} the answer could be wrong`);
        break;
      case 'failed':
        problems.push(view.message);
        break;
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  const referenced = await readReferenced(client, listReferencedObjects(parseObjects(objects)));
  return {
    ok: true,
    resources: parseObjects([...objects, ...referenced.objects]),
    notes: [...notes, ...referenced.notes],
  };
}

/** A kind is read in the newest version that the cluster has. */
async function readVersions(client: KubernetesClient, kind: Kind, namespace: string | undefined): Promise<KindView> {
  const { group, plural, namespaced, versions }: KindDefinition = kinds[kind];
  for (const version of versions) {
    const view = await readKind(client, { group, version, kind, plural, namespaced }, namespace);
    if (view.state !== 'not-installed') return view;
  }
  return { state: 'not-installed' };
}

/** Validates each object as the controller does. Invalid ones are in `invalid`, and close what they would have protected. */
export function parseObjects(objects: readonly KubernetesObject[]): Resources {
  return collectResources(objects.map(parseObject)).resources;
}

function parseObject(object: KubernetesObject): SnapshotEntry<undefined> {
  const result = validateResource(object, 'kubernetes');
  const { identity } = result;
  if (result.ok) return { state: 'valid', identity, resource: result.resource, place: undefined };
  const { raw, problems } = result;
  return { state: 'invalid', identity, invalid: { ...identity, raw, problems }, place: undefined };
}

function assumeClass(): KubernetesObject {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'proxy' },
    spec: { controllerName },
  };
}

interface ReadObjects {
  readonly objects: readonly KubernetesObject[];
  readonly notes: readonly string[];
}

async function readReferenced(client: KubernetesClient, references: readonly ReferencedObject[]): Promise<ReadObjects> {
  const objects: KubernetesObject[] = [];
  const hidden: ReferencedObject[] = [];
  const queue = [...references];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const read = await readObject(client, next);
      if (read === 'hidden') hidden.push(next);
      else if (read !== 'missing') objects.push(read);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return {
    objects: [...objects, ...hidden.map(createStandIn)],
    notes: hidden.length === 0 ? [] : [describeHidden(hidden)],
  };
}

async function readObject(
  client: KubernetesClient,
  { kind, namespace, name }: ReferencedObject,
): Promise<KubernetesObject | 'hidden' | 'missing'> {
  const type: ResourceType = resourceTypes[kind];
  try {
    return { apiVersion: 'v1', kind, ...(await client.get(type, { namespace, name })) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.code === 401) throw error;
    if (error.status.code === 404) return 'missing';
    if (error.status.code === 403) return 'hidden';
    throw error;
  }
}

function describeHidden(hidden: readonly ReferencedObject[]): string {
  const names = hidden.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).toSorted();
  return `May not be read, and is taken as there and good: ${names.join(', ')}.`;
}
