// The kinds that are read from a cluster: all that the gateway knows, trimmed to what translation uses; kinds of an extension only with it.
import { type Extension, type Kind, type KindDefinition, kindNames, kinds, listKinds } from '../../api/kinds.ts';
import type { ResourceType } from '../../kubernetes/resource-type.ts';

export interface WatchedKind {
  readonly kind: Kind;
  /** At its best version. */
  readonly type: ResourceType;
  readonly otherVersions: readonly string[];
  readonly metadataOnly: boolean;
  readonly fieldSelector: string | undefined;
  /** Whether the status is kept: it is compared or read. */
  readonly keepsStatus: boolean;
  /** Read in the installation namespace whatever the selectors say. */
  readonly isInstallationKind: boolean;
  /** What installs the kind; undefined: the kind is optional. */
  readonly installedBy: 'kubernetes' | 'gateway-api' | 'own-crds' | 'inference-extension' | undefined;
}

/** Types of Secrets that are never referenced. Helm's hold whole charts and are many. */
const ignoredSecretTypes = [
  'helm.sh/release.v1',
  'kubernetes.io/service-account-token',
  'kubernetes.io/dockercfg',
  'kubernetes.io/dockerconfigjson',
  'bootstrap.kubernetes.io/token',
];

const withStatus: ReadonlySet<Kind> = new Set([
  'GatewayClass',
  'Gateway',
  'HTTPRoute',
  'Service',
  'ProxyBackend',
  'ProxyPolicy',
  'InferencePool',
]);
const installationKinds: ReadonlySet<Kind> = new Set(['Secret', 'ConfigMap', 'GatewayParameters']);

/** Only Secrets that a reference can mean; only Pods that run, because no other is an endpoint. */
const fieldSelectors: Partial<Record<Kind, string>> = {
  Secret: ignoredSecretTypes.map((type) => `type!=${type}`).join(','),
  Pod: 'status.phase=Running',
};

/** A kind by its name, also those of extensions. */
export const watchedKindsByName: ReadonlyMap<string, WatchedKind> = new Map(
  kindNames.map((kind) => [kind, describeWatched(kind)]),
);

/** What is read with these extensions, in the order of src/api/kinds.ts. */
export function listWatchedKinds(extensions: readonly Extension[]): readonly WatchedKind[] {
  return listKinds(extensions).map((kind) => watchedKindsByName.get(kind)!);
}

function describeWatched(kind: Kind): WatchedKind {
  const { group, versions, plural, namespaced }: KindDefinition = kinds[kind];
  const [version, ...otherVersions] = versions;
  return {
    kind,
    type: { group, version, kind, plural, namespaced },
    otherVersions,
    metadataOnly: kind === 'Namespace',
    fieldSelector: fieldSelectors[kind],
    keepsStatus: withStatus.has(kind),
    isInstallationKind: installationKinds.has(kind),
    installedBy: findInstaller(kind, group),
  };
}

function findInstaller(kind: Kind, group: string): WatchedKind['installedBy'] {
  // Without grants nothing may refer across namespaces, which is safe.
  if (kind === 'ReferenceGrant') return undefined;
  if (group === kinds.ProxyPolicy.group) return 'own-crds';
  if (group === kinds.InferencePool.group) return 'inference-extension';
  return group === kinds.Gateway.group ? 'gateway-api' : 'kubernetes';
}
