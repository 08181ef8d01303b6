// Who owns which field of a live object (metadata.managedFields), as far as the deployer has to know.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
import type { KubernetesObject } from '../kubernetes/client.ts';
import { isJson, type Json, mergeValues } from './merge-values.ts';

/** The name under which everything is written. */
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
 * managedFields in which what we created counts as applied by us; undefined when it does already. Objects are created by POST, which never touches
 * one that exists; its fields would otherwise belong to that POST for ever, and not go away when they are no longer applied.
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

/** Whether somebody else, such as an autoscaler or `kubectl scale`, has set how many pods there are. */
export function isScaledByOthers(live: KubernetesObject): boolean {
  return readEntries(live).some((entry) => {
    const spec = isJson(entry.fieldsV1) ? entry.fieldsV1['f:spec'] : undefined;
    return entry.manager !== fieldManager && isJson(spec) && Object.hasOwn(spec, 'f:replicas');
  });
}
