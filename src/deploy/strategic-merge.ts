// Strategic merge patches, as Kubernetes defines them for the kinds that are deployed: mappings merge, null removes, lists of keyed entries merge by
// their key, other lists are replaced, and `$patch` overrides that.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
import { dropNulls, isJson, type Json } from './merge-values.ts';

/** An overlay that cannot be merged; the message names the field, from the object's root. */
export class StrategicMergeError extends Error {
  readonly code = 'strategic_merge';
}

const container = { ports: 'containerPort', env: 'name', volumeMounts: 'mountPath', volumeDevices: 'devicePath' };

const podSpec: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  resourceClaims: 'name',
  schedulingGates: 'name',
};

/** The keys by which lists merge, by kind and path. Lists that are not here are replaced: tolerations, args, metrics of an autoscaler... */
const mergeKeys: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  Deployment: new Map([
    ...Object.entries(podSpec).map(([list, key]) => [`spec.template.spec.${list}`, key] as const),
    ...['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) =>
      Object.entries(container).map(([inner, key]) => [`spec.template.spec.${list}[].${inner}`, key] as const),
    ),
  ]),
  Service: new Map([['spec.ports', 'port']]),
  ServiceAccount: new Map([['secrets', 'name']]),
};

/** Merges a patch into an object of a kind. Changes neither. Throws a StrategicMergeError if that is not possible. */
export function mergeStrategically(kind: string, object: Json, patch: Json): Json {
  const keys = mergeKeys[kind] ?? new Map<string, string>();

  function mergeMapping(original: Json, change: Json, path: string): Json {
    const { $patch: directive, ...changes } = change;
    if (directive === 'replace') return clean(changes, path) as Json;
    if (directive === 'delete') return {};
    const merged: Record<string, unknown> = { ...original };
    for (const [key, value] of Object.entries(changes)) {
      if (key === '__proto__') continue;
      const here = path === '' ? key : `${path}.${key}`;
      if (value === null) delete merged[key];
      else merged[key] = mergeValue(Object.hasOwn(original, key) ? original[key] : undefined, value, here);
    }
    return merged;
  }

  function mergeValue(original: unknown, change: unknown, path: string): unknown {
    if (isJson(change)) return mergeMapping(isJson(original) ? original : {}, change, path);
    const key = keys.get(path);
    if (Array.isArray(change) && key !== undefined)
      return mergeList(Array.isArray(original) ? original : [], change, key, path);
    return clean(change, path);
  }

  function mergeList(original: readonly unknown[], changes: readonly unknown[], key: string, path: string): unknown[] {
    const isWholesale = changes.some((change) => isJson(change) && isReplaceAll(change));
    const merged: unknown[] = isWholesale ? [] : [...original];
    for (const [index, change] of changes.entries()) {
      if (!isJson(change)) throw new StrategicMergeError(`${path}[${index}] must be a mapping`);
      if (isReplaceAll(change)) continue;
      const identity = change[key];
      if (identity === undefined || identity === null)
        throw new StrategicMergeError(`${path}[${index}] has no ${key}, the key by which list entries are merged`);
      const at = merged.findIndex((item) => isJson(item) && item[key] === identity);
      if (change['$patch'] === 'delete') {
        if (at !== -1) merged.splice(at, 1);
        continue;
      }
      const item = mergeMapping(at === -1 ? {} : (merged[at] as Json), change, `${path}[]`);
      if (at === -1) merged.push(item);
      else merged[at] = item;
    }
    return merged;
  }

  /** A value that replaces another as a whole: nothing in it is merged, so it must not contain directives. */
  function clean(value: unknown, path: string): unknown {
    if (Array.isArray(value)) return value.map((item) => clean(item, `${path}[]`));
    if (!isJson(value)) return value;
    if (value['$patch'] !== undefined && value['$patch'] !== 'merge')
      throw new StrategicMergeError(`${path}.$patch is not allowed here: the value around it is replaced as a whole`);
    const { $patch: _, ...rest } = dropNulls(value) as Json;
    return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, clean(inner, `${path}.${key}`)]));
  }

  return mergeMapping(object, patch, '');
}

/** `- $patch: replace`: the other items replace the whole list. */
function isReplaceAll(item: Json): boolean {
  return item['$patch'] === 'replace' && Object.keys(item).length === 1;
}
