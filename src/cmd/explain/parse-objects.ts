// Objects of an API server -> resources, each validated as the controller validates it.
import type { Resources } from '../../api/resources.ts';
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { collectResources, type SnapshotEntry } from '../../sources/resource-snapshot.ts';
import { validateResource } from '../../sources/validate.ts';

/** What is not valid is in `invalid`, and closes what it would have protected. */
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
