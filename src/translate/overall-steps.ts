// The steps that read all routes or all policies. They run again when a list that they read has changed; a list with the same members stays the same
// object. A step that reads one field of every route or policy does not run for changes of other fields.
import type { Configuration } from '../ir/configuration.ts';
import type { Policy } from '../ir/gen/config_pb.ts';
import type { HttpRouteStatus } from './conditions.ts';
import { listBackendKeys, prepareAssembly, type Parts } from './assemble.ts';
import { listMissingEndpoints } from './backends.ts';
import type { TranslatedBackend } from './proxy-backends.ts';
import type { PoolParent } from './inference-pool-status.ts';
import type { Described } from './list-statuses.ts';
import type { ResolvedListener } from './listeners.ts';
import { keepEqual, replaceLists, type Table } from './memory.ts';
import { listMixedProtection } from './mixed-protection.ts';
import type { Notice } from './notices.ts';
import { compareText } from './order.ts';
import type { PolicyKeys, TranslatedPolicy } from './policies.ts';
import { describeAccess } from './route-access.ts';
import { countAttachedRoutes, groupByBackend, groupByPool } from './route-census.ts';
import type { BackendUsage, PoolUsage, TranslatedRoute } from './routes.ts';
import { findShadowedMatches, type ShadowedMatches } from './shadowed-matches.ts';
import { createListKeeper, createMessageStep, createStep } from './step.ts';
import { createDenial } from './unprotected-routes.ts';

type Keeper<V> = (next: readonly V[]) => readonly V[];

/** Tables that are filled from all routes. */
interface RouteTables {
  /** How many routes count for a listener, by its key. */
  readonly attachedRoutes: Table<number>;
  /** The names of the routes that lead to a backend, by its key. */
  readonly backendUsers: Table<readonly string[]>;
  /** The Gateways with routes that name an InferencePool, by namespace/name of the pool. */
  readonly poolParents: Table<readonly PoolParent[]>;
}

/** The keepers of lists, and the steps over kept lists. */
interface OverallSteps {
  readonly keepListeners: Keeper<ResolvedListener>;
  readonly keepRoutes: Keeper<TranslatedRoute>;
  readonly keepPolicies: Keeper<TranslatedPolicy>;
  readonly keepInvalidPolicies: Keeper<TranslatedPolicy>;
  readonly keepBackends: Keeper<TranslatedBackend>;
  /** Fills the tables. */
  readonly countRoutes: (routes: readonly TranslatedRoute[]) => void;
  /** The keys of the backends that routes and policies lead to. */
  readonly findBackends: (
    routes: readonly TranslatedRoute[],
    policies: readonly TranslatedPolicy[],
  ) => readonly string[];
  /** The messages that close what nothing protects, of the Gateways that serve something. */
  readonly listDenials: (listeners: readonly ResolvedListener[]) => readonly Policy[];
  readonly assemble: (parts: Parts) => Configuration;
  /** The statuses of routes, with what is to be said about requests without a token. */
  readonly describeAccess: (
    routes: readonly TranslatedRoute[],
    listeners: readonly ResolvedListener[],
    configuration: Configuration,
  ) => readonly Described<HttpRouteStatus>[];
  readonly findNotices: (routes: readonly TranslatedRoute[], configuration: Configuration) => readonly Notice[];
  readonly findShadowed: (configuration: Configuration) => ShadowedMatches;
  /** By namespace/name of a policy: the keys of its messages, by Gateway. */
  readonly mapPolicyKeys: (
    policies: readonly TranslatedPolicy[],
  ) => ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
}

/** Prepares them for one translator. */
export function prepareOverallSteps({ attachedRoutes, backendUsers, poolParents }: RouteTables): OverallSteps {
  const listAttachments = createFieldList((route: TranslatedRoute) => route.attachedListeners);
  const listUsages = createFieldList((route: TranslatedRoute) => route.usage);
  const listPoolUsages = createFieldList((route: TranslatedRoute) => route.poolUsage);
  const listPolicyBackends = createFieldList((policy: TranslatedPolicy) => policy.backends);
  const listPolicyKeys = createFieldList((policy: TranslatedPolicy) => policy.keys);

  const countByListener = createStep((attachments: readonly TranslatedRoute['attachedListeners'][]) =>
    attachedRoutes.replace(countAttachedRoutes(attachments)),
  );
  const groupRoutes = createStep((usages: readonly BackendUsage[]) =>
    replaceLists(backendUsers, groupByBackend(usages)),
  );
  const groupPools = createStep((usages: readonly PoolUsage[]) => {
    const known = poolParents.entries();
    const parents = [...groupByPool(usages)];
    poolParents.replace(new Map(parents.map(([pool, list]) => [pool, keepEqual(known.get(pool), list)])));
  });
  const findBackends = createStep(listBackendKeys);
  const findAccess = createStep(describeAccess);
  const findMissingEndpoints = createStep(listMissingEndpoints);
  const findMixedProtection = createStep(listMixedProtection);
  const findShadowed = createStep(findShadowedMatches);
  const mapPolicyKeys = createStep(
    (keys: readonly PolicyKeys[]) => new Map(keys.map(({ policy, byGateway }) => [policy, byGateway])),
  );

  return {
    keepListeners: createListKeeper(),
    keepRoutes: createListKeeper(),
    keepPolicies: createListKeeper(),
    keepInvalidPolicies: createListKeeper(),
    keepBackends: createListKeeper(),
    countRoutes(routes) {
      countByListener(listAttachments(routes));
      groupRoutes(listUsages(routes));
      groupPools(listPoolUsages(routes));
    },
    findBackends: (routes, policies) => findBackends(listUsages(routes), listPolicyBackends(policies)),
    listDenials: createMessageStep(listDenials),
    assemble: prepareAssembly(),
    describeAccess: (routes, listeners, { policies }) => findAccess(routes, listeners, policies),
    findNotices: (routes, { backends, policies }) => [
      ...findMissingEndpoints(backends),
      ...findMixedProtection(routes, policies),
    ],
    findShadowed: ({ routes, policies }) => findShadowed(routes, policies),
    mapPolicyKeys: (policies) => mapPolicyKeys(listPolicyKeys(policies)),
  };
}

function listDenials(listeners: readonly ResolvedListener[]): readonly Policy[] {
  const gateways = new Map(listeners.filter(({ isServed }) => isServed).map(({ gateway }) => [gateway.name, gateway]));
  return [...gateways.values()]
    .flatMap(({ name, deniedRoutes }) => (deniedRoutes === undefined ? [] : [createDenial(name, deniedRoutes)]))
    .toSorted((left, right) => compareText(left.key, right.key));
}

/** One field of every member of a kept list, as a kept list. */
function createFieldList<M, V>(read: (member: M) => V): (members: readonly M[]) => readonly V[] {
  const keep = createListKeeper<V>();
  return createStep((members: readonly M[]) => keep(members.map(read)));
}
