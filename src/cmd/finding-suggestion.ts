// What somebody meant who refers to a resource that does not exist: one with a similar name, or one of another namespace. Pure.
import type { Resources } from '../api/resources.ts';
import { findNearestName } from '../base/nearest-name.ts';

/** As translation writes it: "Secret default/idp does not exist", "HTTPRoute/web does not exist in namespace default". */
const missing =
  /\b(?<kind>[A-Z]\w+)(?: (?<namespace>[^\s/]+)\/(?<name>\S+) does not exist$|\/(?<target>\S+) does not exist in namespace (?<where>[^\s.]+)\.?$)/;

/** "; did you mean X?", to be put after a message; empty when nothing is missing, or nothing is near. */
export function suggestExisting(message: string, resources: Resources): string {
  const found = missing.exec(message)?.groups;
  if (found === undefined) return '';
  const { kind = '', namespace = found['where'] ?? '', name = found['target'] ?? '' } = found;
  const known = listNames(kind, resources);
  const here = known.filter((each) => each.namespace === namespace).map((each) => each.name);
  const nearest = findNearestName(name, here);
  if (nearest !== undefined) return `; did you mean ${nearest}?`;
  const elsewhere = known.find((each) => each.name === name)?.namespace;
  return elsewhere === undefined ? '' : `; there is one of this name in namespace ${elsewhere}`;
}

function listNames(kind: string, resources: Resources): { readonly namespace: string; readonly name: string }[] {
  const lists: Readonly<Record<string, readonly Named[]>> = {
    Gateway: resources.gateways,
    HTTPRoute: resources.httpRoutes,
    ProxyBackend: resources.proxyBackends,
    InferencePool: resources.inferencePools,
    Service: resources.services,
    Secret: resources.secrets,
    ConfigMap: resources.configMaps,
  };
  const own = Object.hasOwn(lists, kind) ? (lists[kind] ?? []) : [];
  return own.map(({ metadata }) => ({ namespace: metadata.namespace ?? '', name: metadata.name }));
}

interface Named {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string };
}
