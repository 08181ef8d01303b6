// Parsed resources in the lists where translate looks for them, for tests: what a source does with what it reads.
import type { Origin } from '../../api/origin.ts';
import { parseResource } from '../../api/parse-resource.ts';
import { type Resources, emptyResources } from '../../api/resources.ts';

const collections = {
  GatewayClass: 'gatewayClasses',
  Gateway: 'gateways',
  HTTPRoute: 'httpRoutes',
  ReferenceGrant: 'referenceGrants',
  Service: 'services',
  EndpointSlice: 'endpointSlices',
  Secret: 'secrets',
  ConfigMap: 'configMaps',
  Namespace: 'namespaces',
  GatewayParameters: 'gatewayParameters',
  ProxyBackend: 'proxyBackends',
  ProxyPolicy: 'proxyPolicies',
  InferencePool: 'inferencePools',
  Pod: 'pods',
} as const;

/** Sorts documents into valid resources by kind and invalid ones. */
export function collectResources(documents: readonly unknown[], origin: Origin): Resources {
  const keys = Object.keys(emptyResources) as (keyof Resources)[];
  const lists = Object.fromEntries(keys.map((key) => [key, [] as unknown[]])) as Record<keyof Resources, unknown[]>;
  for (const raw of documents) {
    const parsed = parseResource(raw, { origin });
    if (parsed.ok) {
      lists[collections[parsed.kind]].push(parsed.resource);
      continue;
    }
    const { kind = '', namespace = '', name = '', problems } = parsed;
    lists.invalid.push({ kind, namespace, name, raw, problems });
  }
  return lists as unknown as Resources;
}
