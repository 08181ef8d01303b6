// The objects that a list-watch has reported, with their versions: enough to find out what is new, changed or deleted.
import type { KubernetesObject } from './client.ts';

export interface KnownObjects {
  readonly size: number;
  /** Reports an object unless it is known at this version. */
  change(object: KubernetesObject): void;
  /** Reports an object as deleted, if it was known; with the version of its deletion. */
  remove(object: KubernetesObject): void;
  /** Starts a full list; at its end, objects that it has not seen are reported as deleted. */
  beginRelist(): Relist;
}

export interface Relist {
  see(object: KubernetesObject): void;
  end(): void;
}

interface Known {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** If a callback throws, the object stays as it was known before, so that it is reported again. */
export function createKnownObjects(
  onChange: (object: KubernetesObject) => void,
  onGone: (object: KubernetesObject) => void,
): KnownObjects {
  const known = new Map<string, Known>();

  function reportGone(
    key: string,
    { apiVersion, kind, ...metadata }: Known,
    resourceVersion: string | undefined = metadata.resourceVersion,
  ): void {
    onGone({
      ...(apiVersion !== undefined && { apiVersion }),
      ...(kind !== undefined && { kind }),
      metadata: {
        name: metadata.name,
        ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
        ...(metadata.uid !== undefined && { uid: metadata.uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    });
    known.delete(key);
  }

  function change(object: KubernetesObject): string {
    const { managedFields: _fields, ...metadata } = object.metadata;
    const { namespace, name, uid, resourceVersion } = metadata;
    const key = formatKey(object);
    const before = known.get(key);
    if (before !== undefined && before.uid !== uid) reportGone(key, before);
    else if (before !== undefined && before.resourceVersion === resourceVersion) return key;
    onChange({ ...object, metadata });
    const { apiVersion, kind } = object;
    known.set(key, { apiVersion, kind, namespace, name, uid, resourceVersion });
    return key;
  }

  return {
    get size() {
      return known.size;
    },
    change: (object) => void change(object),
    remove(object) {
      const key = formatKey(object);
      const before = known.get(key);
      if (before !== undefined) reportGone(key, before, object.metadata.resourceVersion);
    },
    beginRelist() {
      const seen = new Set<string>();
      return {
        see: (object) => void seen.add(change(object)),
        end() {
          for (const [key, before] of known) if (!seen.has(key)) reportGone(key, before);
        },
      };
    },
  };
}

function formatKey({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
