// What was read of a cluster for `status`, before anybody judges it.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { resourceTypes } from '../../kubernetes/resource-type.ts';

/** The kinds that `status` shows, in the order of its tables. */
export const statusKinds = [
  'GatewayClass',
  'Gateway',
  'HTTPRoute',
  'ProxyPolicy',
  'ProxyBackend',
  'InferencePool',
] as const;

export type StatusKind = (typeof statusKinds)[number];

/** The kinds that tell how the controller itself is. */
export const controllerKinds = ['Deployment', 'Lease'] as const;

export type ControllerKind = (typeof controllerKinds)[number];

/** What came of reading one kind. */
export type KindView =
  | {
      readonly state: 'read';
      readonly objects: readonly KubernetesObject[];
      /** Set while watching: why it may have changed since. */
      readonly outdated?: string;
    }
  | { readonly state: 'not-installed' }
  /** The API server's words. */
  | { readonly state: 'forbidden'; readonly message: string }
  | { readonly state: 'failed'; readonly message: string };

/** What was read. */
export interface ClusterView {
  readonly server: string;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** Where the controller is installed. */
  readonly controllerNamespace: string;
  readonly kinds: Readonly<Record<StatusKind | ControllerKind, KindView>>;
}

/** The objects of a kind; none when it could not be read. */
export function listObjects(view: ClusterView, kind: StatusKind | ControllerKind): readonly KubernetesObject[] {
  const read = view.kinds[kind];
  return read.state === 'read' ? read.objects : [];
}

/** Where the objects of a kind are looked for; undefined: in all namespaces, or the kind has none. */
export function findScope(
  kind: StatusKind | ControllerKind,
  { namespace, controllerNamespace }: Pick<ClusterView, 'namespace' | 'controllerNamespace'>,
): string | undefined {
  if (kind === 'Deployment' || kind === 'Lease') return controllerNamespace;
  return resourceTypes[kind].namespaced ? namespace : undefined;
}
