// Objects as the API server shows them: at the version that was asked for, whole or as metadata only.
import type { KubernetesObject } from '../../../src/kubernetes/client.ts';
import type { ServedKind } from './served-kind.ts';

/** How a client wants to see objects. */
export interface View {
  readonly kind: ServedKind;
  readonly version: string;
  /** PartialObjectMetadata */
  readonly metadataOnly: boolean;
}

/** `v1`, `apps/v1` */
export function formatVersion({ kind, version }: View): string {
  return kind.group === '' ? version : `${kind.group}/${version}`;
}

/** One object. */
export function renderObject(view: View, object: KubernetesObject): object {
  if (view.metadataOnly)
    return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
  return { ...object, apiVersion: formatVersion(view), kind: view.kind.kind };
}

/** A list. Items of built-in kinds do not repeat their kind, those of custom resources do, as in a real cluster. */
export function renderList(
  view: View,
  items: readonly KubernetesObject[],
  metadata: { readonly resourceVersion: string; readonly continue?: string; readonly remainingItemCount?: number },
): object {
  if (view.metadataOnly)
    return {
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      items: items.map((item) => ({ metadata: item.metadata })),
    };
  const isCustom = view.kind.group.includes('.') && !view.kind.group.endsWith('.k8s.io');
  return {
    kind: `${view.kind.kind}List`,
    apiVersion: formatVersion(view),
    metadata,
    items: items.map((item) => {
      if (isCustom) return renderObject(view, item);
      const { apiVersion: _version, kind: _kind, ...rest } = item;
      return rest;
    }),
  };
}

/** What tells a watch how far it has come. */
export function renderBookmark(view: View, resourceVersion: number): object {
  return {
    kind: view.metadataOnly ? 'PartialObjectMetadata' : view.kind.kind,
    apiVersion: view.metadataOnly ? 'meta.k8s.io/v1' : formatVersion(view),
    metadata: { resourceVersion: String(resourceVersion), creationTimestamp: null },
  };
}
