// One configuration for all Gateways -> one for each: its own listeners, what is attached to them, and what that needs. Nothing else goes to a
// gateway: neither the routes nor the secrets of another one. It serves exactly what the whole configuration says about its listeners.
import type { Configuration } from '../ir/configuration.ts';
import type { Policy, Route } from '../ir/gen/config_pb.ts';
import { PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { keepList, keepMessages, keepShallow } from './memory.ts';
import { listBackends, listBackendSecrets, listPolicyReferences } from './message-references.ts';

/** Configurations by namespace/name of the Gateway. A Gateway without listeners has none, and is to serve nothing. */
export type Slices = ReadonlyMap<string, Configuration>;

/**
 * Slices a configuration. `previous` is what was returned last: a slice that did not change is the same object as before, as is a list of one that did.
 * Messages are the same objects in any case.
 */
export function sliceConfiguration(configuration: Configuration, previous?: Slices): Slices {
  if (previous !== undefined && origins.get(previous) === configuration) return previous;
  const { listeners, routes, backends, policies, secrets } = configuration;
  const slices = new Map<string, Mutable>();
  const gatewayOf = new Map<string, string>();
  const neededBackends = new Needs();
  const neededSecrets = new Needs();
  for (const listener of listeners) {
    const { key, gateway, certificates, clientValidation } = listener;
    gatewayOf.set(key, gateway);
    let slice = slices.get(gateway);
    if (slice === undefined) slices.set(gateway, (slice = createEmpty()));
    slice.listeners.push(listener);
    for (const secret of [...certificates, ...(clientValidation?.ca ?? [])]) neededSecrets.add(secret, gateway);
  }

  const gatewaysOfRoute = new Map<string, readonly string[]>();
  for (const route of routes) {
    const gateways = listGateways(route, gatewayOf);
    gatewaysOfRoute.set(route.httpRoute, gateways);
    const used = listBackends(route);
    for (const gateway of gateways) {
      slices.get(gateway)?.routes.push(gateways.length === 1 ? route : trimRoute(route, gateway, gatewayOf));
      for (const backend of used) neededBackends.add(backend, gateway);
    }
  }

  // Keys are fetched from Services, which are no targets: that they are added here changes nothing for the policies after.
  const findGateways = createTargetFinder({ slices, gatewaysOfRoute, gatewaysOfBackend: neededBackends.gateways });
  for (const policy of policies) {
    const references = listPolicyReferences(policy);
    for (const gateway of findGateways(policy)) {
      slices.get(gateway)?.policies.push(policy);
      for (const backend of references.backends) neededBackends.add(backend, gateway);
      for (const secret of references.secrets) neededSecrets.add(secret, gateway);
    }
  }
  for (const backend of backends) {
    for (const gateway of neededBackends.list(backend.key)) {
      slices.get(gateway)?.backends.push(backend);
      for (const secret of listBackendSecrets(backend)) neededSecrets.add(secret, gateway);
    }
  }
  for (const secret of secrets)
    for (const gateway of neededSecrets.list(secret.key)) slices.get(gateway)?.secrets.push(secret);

  const kept = new Map([...slices].map(([gateway, slice]) => [gateway, keepSlice(previous?.get(gateway), slice)]));
  origins.set(kept, configuration);
  return kept;
}

/** What slices were made of. */
const origins = new WeakMap<Slices, Configuration>();

type Mutable = { -readonly [L in keyof Configuration]: Configuration[L][number][] };

function createEmpty(): Mutable {
  return { listeners: [], routes: [], backends: [], policies: [], secrets: [] };
}

/** Which Gateways need a message, by its key. */
class Needs {
  readonly gateways = new Map<string, string[]>();

  add(key: string, gateway: string): void {
    const gateways = this.gateways.get(key);
    if (gateways === undefined) this.gateways.set(key, [gateway]);
    else if (!gateways.includes(gateway)) gateways.push(gateway);
  }

  list(key: string): readonly string[] {
    return this.gateways.get(key) ?? [];
  }
}

function listGateways({ parents }: Route, gatewayOf: ReadonlyMap<string, string>): readonly string[] {
  const gateways: string[] = [];
  for (const { listener } of parents) {
    const gateway = gatewayOf.get(listener);
    if (gateway !== undefined && !gateways.includes(gateway)) gateways.push(gateway);
  }
  return gateways;
}

const trimmed = new WeakMap<Route, Map<string, Route>>();

// A listener's key never moves to another Gateway, so that a route is trimmed once for each.
function trimRoute(route: Route, gateway: string, gatewayOf: ReadonlyMap<string, string>): Route {
  const known = trimmed.get(route) ?? new Map<string, Route>();
  trimmed.set(route, known);
  let own = known.get(gateway);
  if (own === undefined) {
    const parents = route.parents.filter(({ listener }) => gatewayOf.get(listener) === gateway);
    known.set(gateway, (own = { ...route, parents }));
  }
  return own;
}

interface Reach {
  readonly slices: ReadonlyMap<string, Mutable>;
  readonly gatewaysOfRoute: ReadonlyMap<string, readonly string[]>;
  readonly gatewaysOfBackend: ReadonlyMap<string, readonly string[]>;
}

function createTargetFinder(reach: Reach): (policy: Policy) => Iterable<string> {
  let byNamespace: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  return ({ target }) => {
    if (target === undefined) return reach.slices.keys();
    const { kind, namespace, name } = target;
    const full = `${namespace}/${name}`;
    if (kind === PolicyTargetKind.GATEWAY) return reach.slices.has(full) ? [full] : [];
    if (kind === PolicyTargetKind.HTTP_ROUTE) return reach.gatewaysOfRoute.get(full) ?? [];
    if (kind === PolicyTargetKind.PROXY_BACKEND)
      return reach.gatewaysOfBackend.get(formatProxyBackendKey(namespace, name)) ?? [];
    byNamespace ??= indexNamespaces(reach);
    return byNamespace.get(namespace) ?? [];
  };
}

// A policy on a namespace closes what lies there: Gateways, routes and ProxyBackends.
function indexNamespaces({
  slices,
  gatewaysOfRoute,
  gatewaysOfBackend,
}: Reach): ReadonlyMap<string, ReadonlySet<string>> {
  const index = new Map<string, Set<string>>();
  const add = (namespace: string, gateways: Iterable<string>): void => {
    const known = index.get(namespace) ?? new Set();
    index.set(namespace, known);
    for (const gateway of gateways) known.add(gateway);
  };
  for (const gateway of slices.keys()) add(readNamespace(gateway), [gateway]);
  for (const [route, gateways] of gatewaysOfRoute) add(readNamespace(route), gateways);
  for (const [backend, gateways] of gatewaysOfBackend) {
    const [kind, namespace = ''] = backend.split('/');
    if (kind === 'ProxyBackend') add(namespace, gateways);
  }
  return index;
}

function readNamespace(name: string): string {
  return name.slice(0, name.indexOf('/'));
}

function keepSlice(previous: Configuration | undefined, next: Configuration): Configuration {
  return keepShallow(previous, {
    listeners: keepList(previous?.listeners, next.listeners),
    routes: keepMessages(previous?.routes, next.routes), // those that were trimmed may be equal
    backends: keepList(previous?.backends, next.backends),
    policies: keepList(previous?.policies, next.policies),
    secrets: keepList(previous?.secrets, next.secrets),
  });
}
