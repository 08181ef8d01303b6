// One configuration for all Gateways -> one for each: its own listeners, what is attached to them, and what that needs. Nothing else goes to a
// gateway: neither the routes nor the secrets of another one. It serves exactly what the whole configuration says about its listeners.
import type { Configuration } from '../ir/configuration.ts';
import { type Listener, type Policy, type PolicyTarget, type Route, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import { keepList, keepMessages, keepShallow } from './memory.ts';
import { listBackends, listBackendSecrets } from './message-references.ts';
import { listPolicyReferences } from './policies/policy-translators.ts';

/** Configurations by namespace/name of the Gateway. A Gateway without listeners has none, and is to serve nothing. */
export type Slices = ReadonlyMap<string, Configuration>;

/**
 * Slices a configuration. `previous` is what was returned last: a slice that did not change is the same object as before, as is a list of one that did.
 * Messages are the same objects in any case.
 */
export function sliceConfiguration(configuration: Configuration, previous?: Slices): Slices {
  if (previous !== undefined && origins.get(previous) === configuration) return previous;
  const { listeners, routes, backends, policies, secrets } = configuration;
  const reach = findReach(listeners, routes);
  const slices = new Map<string, Mutable>();
  for (const [gateway, { listeners: own, routes: used }] of reach.gateways)
    slices.set(gateway, { listeners: own, routes: used, backends: [], policies: [], secrets: [] });

  // Keys are fetched from Services, which policies cannot target: adding them here does not affect later policies.
  const findGateways = createTargetFinder(reach);
  const neededBackends = new Needs(reach.backends);
  const neededSecrets = new Needs(reach.secrets);
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

interface Mutable extends Pick<Configuration, 'listeners' | 'routes'> {
  readonly backends: Configuration['backends'][number][];
  readonly policies: Policy[];
  readonly secrets: Configuration['secrets'][number][];
}

/** Which Gateways need a message, by its key. */
class Needs {
  readonly #before: Needs | undefined;
  readonly #gateways = new Map<string, string[]>();

  /** With those of `before`, which stays as it is. */
  constructor(before?: Needs) {
    this.#before = before;
  }

  add(key: string, gateway: string): void {
    if (this.#before?.list(key).includes(gateway)) return;
    const gateways = this.#gateways.get(key);
    if (gateways === undefined) this.#gateways.set(key, [gateway]);
    else if (!gateways.includes(gateway)) gateways.push(gateway);
  }

  list(key: string): readonly string[] {
    const before = this.#before?.list(key) ?? noGateways;
    const own = this.#gateways.get(key) ?? noGateways;
    if (own.length === 0) return before;
    return before.length === 0 ? own : [...before, ...own];
  }

  /** Keys and Gateways, without those of before. */
  get own(): ReadonlyMap<string, readonly string[]> {
    return this.#gateways;
  }
}

const noGateways: readonly string[] = [];

/** How far each Gateway reaches by its listeners and routes. */
interface Reach {
  readonly gateways: ReadonlyMap<string, { readonly listeners: Listener[]; readonly routes: Route[] }>;
  /** Gateways by namespace/name of the HTTPRoute. */
  readonly gatewaysOfRoute: ReadonlyMap<string, readonly string[]>;
  readonly backends: Needs;
  readonly secrets: Needs;
}

const reaches = new WeakMap<readonly Route[], { readonly listeners: readonly Listener[]; readonly reach: Reach }>();

/** Cached by the two lists: most changes affect neither routes nor listeners. */
function findReach(listeners: readonly Listener[], routes: readonly Route[]): Reach {
  const known = reaches.get(routes);
  if (known?.listeners === listeners) return known.reach;
  const reach = computeReach(listeners, routes);
  reaches.set(routes, { listeners, reach });
  return reach;
}

function computeReach(listeners: readonly Listener[], routes: readonly Route[]): Reach {
  const gateways = new Map<string, { readonly listeners: Listener[]; readonly routes: Route[] }>();
  const gatewayOf = new Map<string, string>();
  const backends = new Needs();
  const secrets = new Needs();
  for (const listener of listeners) {
    const { key, gateway, certificates, clientValidation } = listener;
    gatewayOf.set(key, gateway);
    let own = gateways.get(gateway);
    if (own === undefined) gateways.set(gateway, (own = { listeners: [], routes: [] }));
    own.listeners.push(listener);
    for (const secret of [...certificates, ...(clientValidation?.ca ?? [])]) secrets.add(secret, gateway);
  }
  const gatewaysOfRoute = new Map<string, readonly string[]>();
  for (const route of routes) {
    const attached = listGateways(route, gatewayOf);
    gatewaysOfRoute.set(route.httpRoute, attached);
    const used = listBackends(route);
    for (const gateway of attached) {
      gateways.get(gateway)?.routes.push(attached.length === 1 ? route : trimRoute(route, gateway, gatewayOf));
      for (const backend of used) backends.add(backend, gateway);
    }
  }
  return { gateways, gatewaysOfRoute, backends, secrets };
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

const targetNames = new WeakMap<PolicyTarget, string>();

/** The name of a target, cached: of thousands of policies few are new. */
function nameTarget(target: PolicyTarget): string {
  let name = targetNames.get(target);
  if (name === undefined) {
    const isBackend = target.kind === PolicyTargetKind.PROXY_BACKEND;
    name = isBackend ? formatProxyBackendKey(target.namespace, target.name) : `${target.namespace}/${target.name}`;
    targetNames.set(target, name);
  }
  return name;
}

function createTargetFinder(reach: Reach): (policy: Policy) => Iterable<string> {
  let byNamespace: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  return ({ target }) => {
    if (target === undefined) return reach.gateways.keys();
    const name = nameTarget(target);
    if (target.kind === PolicyTargetKind.GATEWAY || target.kind === PolicyTargetKind.UNPROTECTED)
      return reach.gateways.has(name) ? [name] : noGateways;
    if (target.kind === PolicyTargetKind.HTTP_ROUTE) return reach.gatewaysOfRoute.get(name) ?? noGateways;
    if (target.kind === PolicyTargetKind.PROXY_BACKEND) return reach.backends.list(name);
    byNamespace ??= indexNamespaces(reach);
    return byNamespace.get(target.namespace) ?? noGateways;
  };
}

// A policy on a namespace closes what lies there: Gateways, routes and ProxyBackends.
function indexNamespaces({ gateways, gatewaysOfRoute, backends }: Reach): ReadonlyMap<string, ReadonlySet<string>> {
  const index = new Map<string, Set<string>>();
  const add = (namespace: string, reached: Iterable<string>): void => {
    const known = index.get(namespace) ?? new Set();
    index.set(namespace, known);
    for (const gateway of reached) known.add(gateway);
  };
  for (const gateway of gateways.keys()) add(readNamespace(gateway), [gateway]);
  for (const [route, reached] of gatewaysOfRoute) add(readNamespace(route), reached);
  for (const [backend, reached] of backends.own) {
    const [kind, namespace = ''] = backend.split('/');
    if (kind === 'ProxyBackend') add(namespace, reached);
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
