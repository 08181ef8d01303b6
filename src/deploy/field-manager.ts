// The owners of the fields of a live object (metadata.managedFields), as far as the deployer needs them.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isJson, type Json, mergeValues } from './merge-values.ts';

/** The field manager of all our writes. */
export const fieldManager = 'mcp-gateway-controller';

interface FieldEntry {
  readonly manager?: unknown;
  readonly operation?: unknown;
  readonly subresource?: unknown;
  readonly fieldsV1?: unknown;
}

function readEntries({ metadata }: KubernetesObject): readonly (FieldEntry & Json)[] {
  const entries = metadata['managedFields'];
  return Array.isArray(entries) ? entries.filter(isJson) : [];
}

function isOurs({ manager, subresource }: FieldEntry): boolean {
  return manager === fieldManager && (subresource === undefined || subresource === '');
}

/**
 * managedFields that turn the fields of our POST into applied fields; undefined if they are already. Objects are created by POST, because it never touches
 * an existing object; but its fields would belong to that POST for ever, and stay when they are no longer applied.
 */
export function takeOverCreation(live: KubernetesObject): readonly Json[] | undefined {
  const entries = readEntries(live);
  const created = entries.find((entry) => isOurs(entry) && entry.operation === 'Update');
  if (created === undefined) return undefined;
  const applied = entries.find((entry) => isOurs(entry) && entry.operation === 'Apply');
  const own = {
    ...created,
    operation: 'Apply',
    fieldsV1: mergeValues<unknown>(created.fieldsV1, applied?.fieldsV1),
  };
  return [...entries.filter((entry) => entry !== created && entry !== applied), own];
}

/** Whether another manager, such as an autoscaler or `kubectl scale`, has set the number of pods. */
export function isScaledByOthers(live: KubernetesObject): boolean {
  return readEntries(live).some((entry) => {
    const spec = isJson(entry.fieldsV1) ? entry.fieldsV1['f:spec'] : undefined;
    return entry.manager !== fieldManager && isJson(spec) && Object.hasOwn(spec, 'f:replicas');
  });
}
