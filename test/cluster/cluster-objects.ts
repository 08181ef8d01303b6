// All objects of a cluster, of every kind that the API server has, by kind and name: for tests that compare what was there with what is.
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';

interface ResourceKind {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

interface Group {
  readonly preferredVersion: { readonly groupVersion: string };
}

/** Kubernetes writes them beside other objects, which name them, and deletes them with those: Events, addresses of Services, the API of a CRD. */
const ofOthers: ReadonlySet<string> = new Set(['Event', 'Endpoints', 'IPAddress', 'APIService']);
/** What is made for an owner of these kinds goes with it. */
const makers: ReadonlySet<string> = new Set(['Deployment', 'ReplicaSet', 'Service']);
/** What every namespace has. */
const ofNamespaces = /^(ConfigMap .*\/kube-root-ca\.crt|ServiceAccount .*\/default)$/;

/** Every object as `Deployment default/web-proxy` or `Namespace default`, sorted, but for those that Kubernetes itself makes for others. */
export function listObjects(cluster: Cluster): Promise<readonly string[]> {
  // For a moment after a CRD has come or gone, the API server names kinds that it does not serve.
  return cluster.waitFor(() => collectObjects(cluster), { what: 'all kinds that the API server names can be listed' });
}

async function collectObjects(cluster: Cluster): Promise<readonly string[]> {
  const { groups } = await cluster.api.get<{ groups: readonly Group[] }>('/apis');
  const places = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const found = new Set<string>();
  for (const place of places) {
    const { resources } = await cluster.api.get<{ resources: readonly ResourceKind[] }>(place);
    for (const { name, kind, verbs } of resources) {
      if (!verbs.includes('list') || ofOthers.has(kind)) continue;
      for (const object of await cluster.api.list(`${place}/${name}`))
        if (!isMade(object)) found.add(nameObject(kind, object));
    }
  }
  return [...found].filter((object) => !ofNamespaces.test(object)).toSorted();
}

const isMade = ({ metadata }: ApiObject): boolean =>
  metadata.ownerReferences?.some(({ kind }) => makers.has(kind)) ?? false;

function nameObject(kind: string, { metadata: { namespace, name } }: ApiObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
