// Which objects a list-watch has told about, at which version: enough to know what is new, what changed and what went, and no more.
import type { KubernetesObject } from './client.ts';

export interface KnownObjects {
  readonly size: number;
  /** Tells about an object unless it is known at this version. */
  change(object: KubernetesObject): void;
  /** Tells that an object is gone, if it was known; with the version of its deletion. */
  remove(object: KubernetesObject): void;
  /** Starts a full list; what it does not see is gone when it ends. */
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

/** A callback that throws leaves the object as it was known before, so that it is told about again. */
export function createKnownObjects(
  onChange: (object: KubernetesObject) => void,
  onGone: (object: KubernetesObject) => void,
): KnownObjects {
  const known = new Map<string, Known>();

  function tellGone(
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
    if (before !== undefined && before.uid !== uid) tellGone(key, before);
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
      if (before !== undefined) tellGone(key, before, object.metadata.resourceVersion);
    },
    beginRelist() {
      const seen = new Set<string>();
      return {
        see: (object) => void seen.add(change(object)),
        end() {
          for (const [key, before] of known) if (!seen.has(key)) tellGone(key, before);
        },
      };
    },
  };
}

function formatKey({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
