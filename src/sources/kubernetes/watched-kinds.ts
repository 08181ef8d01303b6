// Which kinds are read from a cluster, and how: all that the gateway knows, of each no more than translation can use.
import { type Kind, type KindDefinition, kindNames, kinds } from '../../api/kinds.ts';
import type { ResourceType } from '../../kubernetes/resource-type.ts';

export interface WatchedKind {
  readonly kind: Kind;
  /** At its best version. */
  readonly type: ResourceType;
  readonly otherVersions: readonly string[];
  readonly metadataOnly: boolean;
  readonly fieldSelector: string | undefined;
  /** The status is kept: somebody compares what is written there, or reads it. */
  readonly keepsStatus: boolean;
  /** Read in the installation namespace whatever the selectors say. */
  readonly isInstallationKind: boolean;
  /** Who installs it, when it is missing; undefined: nothing is wrong without it. */
  readonly installedBy: 'kubernetes' | 'gateway-api' | 'own-crds' | undefined;
}

/** Types of Secrets that no reference of ours can mean. Helm's hold whole charts and are many. */
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
]);
const installationKinds: ReadonlySet<Kind> = new Set(['Secret', 'ConfigMap', 'GatewayParameters']);

/** In the order of src/api/kinds.ts. */
export const watchedKinds: readonly WatchedKind[] = kindNames.map((kind) => {
  const { group, versions, plural, namespaced }: KindDefinition = kinds[kind];
  const [version, ...otherVersions] = versions;
  return {
    kind,
    type: { group, version, kind, plural, namespaced },
    otherVersions,
    metadataOnly: kind === 'Namespace',
    fieldSelector: kind === 'Secret' ? ignoredSecretTypes.map((type) => `type!=${type}`).join(',') : undefined,
    keepsStatus: withStatus.has(kind),
    isInstallationKind: installationKinds.has(kind),
    installedBy: findInstaller(kind, group),
  };
});

/** A kind by its name. */
export const watchedKindsByName: ReadonlyMap<string, WatchedKind> = new Map(
  watchedKinds.map((watched) => [watched.kind, watched]),
);

function findInstaller(kind: Kind, group: string): WatchedKind['installedBy'] {
  // Without grants nothing may refer across namespaces, which is safe.
  if (kind === 'ReferenceGrant') return undefined;
  if (group === kinds.ProxyPolicy.group) return 'own-crds';
  return group === kinds.Gateway.group ? 'gateway-api' : 'kubernetes';
}
