// Resources -> what the gateway serves, and what to tell their owners. Pure: no I/O, no clock, no randomness; it never throws and
// does not depend on the order of its input. The same for files and for Kubernetes. This file is the order of the steps.
import { controllerName as defaultControllerName } from '../api/gateway-class.ts';
import type { Resources } from '../api/resources.ts';
import type { Configuration } from '../ir/configuration.ts';
import type { Listener, Secret } from '../ir/gen/config_pb.ts';
import { noteMissingEndpoints, prepareBackends } from './backends.ts';
import type { Backends } from './backends.ts';
import type { Statuses } from './conditions.ts';
import { resolveGatewayClasses } from './gateway-classes.ts';
import { describeGateway } from './gateway-status.ts';
import { resolveGateways } from './gateways.ts';
import { describeInvalidResources } from './invalid-resources.ts';
import type { ResolvedListener } from './listeners.ts';
import { createListener, describeListener, listMessageListeners, resolveListeners } from './listeners.ts';
import { noteMixedProtection } from './mixed-protection.ts';
import type { Notice } from './notices.ts';
import { collectNotices } from './notices.ts';
import { compareText } from './order.ts';
import type { PolicyConflict } from './policy-conflicts.ts';
import type { TranslatedPolicies } from './policies.ts';
import { translatePolicies } from './policies.ts';
import { listBackends, traceReach } from './policy-reach.ts';
import { indexResources } from './resource-index.ts';
import { attachRoute } from './route-parents.ts';
import { describeRoute, isAccepted } from './route-status.ts';
import type { TranslatedRoute } from './routes.ts';
import { translateRoute } from './routes.ts';

/** What translation makes of a set of resources. */
export interface Translation {
  /** The messages, sorted by key; every reference among them leads to another of them. */
  readonly configuration: Configuration;
  readonly statuses: Statuses;
  /** What a person should know and no condition says, sorted. */
  readonly notices: readonly Notice[];
  /** Fields of policies that have no say because another policy has them at the same target; the statuses say so too. */
  readonly conflicts: readonly PolicyConflict[];
}

/** What a caller may say about itself. */
export interface TranslateOptions {
  /** Whose GatewayClasses are served; `gateway.proxy/controller` when absent. */
  readonly controllerName?: string;
}

/** Translates resources into configuration and statuses. */
export function translate(resources: Resources, options: TranslateOptions = {}): Translation {
  const controllerName = options.controllerName ?? defaultControllerName;
  const notices = collectNotices();
  const index = indexResources(resources);

  const classes = resolveGatewayClasses(index, controllerName);
  const gateways = resolveGateways(index, classes, notices);
  const listeners = resolveListeners(index, gateways);
  const backends = prepareBackends(index);

  const gatewaysByName = new Map(gateways.map((gateway) => [gateway.name, gateway]));
  const parents = { gateways: gatewaysByName, listeners: Map.groupBy(listeners, ({ gateway }) => gateway.name) };
  const routes = [...index.httpRoutes.values()].map((route) =>
    translateRoute(route, attachRoute(index, parents, route, notices), backends),
  );
  const policies = translatePolicies(index, backends, traceReach(gateways, listeners, routes), controllerName, notices);

  const configuration = assemble(listeners, routes, backends, policies);
  for (const { route, messages, remarks } of routes)
    if (messages.length > 0) for (const remark of remarks) notices.add('HTTPRoute', route, remark);
  noteMissingEndpoints(configuration.backends, notices);
  noteMixedProtection(routes, policies.messages, notices);

  const attachedRoutes = countAttachedRoutes(routes);
  const invalid = describeInvalidResources(index, classes, gatewaysByName, controllerName);
  return {
    configuration,
    statuses: {
      gatewayClasses: sortEntries(classes.statuses),
      gateways: sortEntries([
        ...invalid.gateways,
        ...gateways.map((gateway) => {
          const own = parents.listeners.get(gateway.name) ?? [];
          const ownStatuses = own.map((listener) => describeListener(listener, attachedRoutes.get(listener.key) ?? 0));
          return [gateway.name, describeGateway(gateway, own, ownStatuses)] as const;
        }),
      ]),
      httpRoutes: sortEntries([
        ...invalid.httpRoutes,
        ...routes.flatMap((route) => {
          const status = describeRoute(route, controllerName);
          return status === undefined ? [] : [[route.name, status] as const];
        }),
      ]),
      proxyBackends: sortEntries([...invalid.proxyBackends, ...backends.statuses]),
      proxyPolicies: sortEntries(policies.statuses),
    },
    notices: notices.list(),
    conflicts: policies.conflicts,
  };
}

// Only what is reached from a listener: a Secret or an endpoint that nothing uses has no business in a gateway's memory.
function assemble(
  resolved: readonly ResolvedListener[],
  translated: readonly TranslatedRoute[],
  backends: Backends,
  policies: TranslatedPolicies,
): Configuration {
  const served = resolved.filter(({ isServed }) => isServed);
  const listeners: readonly Listener[] = listMessageListeners(resolved).map(createListener);
  const routes = translated.flatMap(({ messages }) => messages);
  const keys = new Set([...routes.flatMap(listBackends), ...policies.backends]);
  const used = [...keys].flatMap((key) => backends.found.get(key) ?? []);
  const secrets = new Map<string, Secret>();
  for (const secret of [
    ...served.flatMap(({ certificates }) => certificates),
    ...used.flatMap(({ key }) => backends.secretsOf(key)),
    ...policies.secrets,
  ])
    secrets.set(secret.key, secret);
  return {
    listeners: listeners.toSorted(compareByKey),
    routes: routes.toSorted(
      (left, right) => compareText(left.httpRoute, right.httpRoute) || left.ruleIndex - right.ruleIndex,
    ),
    backends: used.toSorted(compareByKey),
    policies: policies.messages.toSorted(compareByKey),
    secrets: [...secrets.values()].toSorted(compareByKey),
  };
}

// A route counts once per listener, however many of its parentRefs lead there.
function countAttachedRoutes(routes: readonly TranslatedRoute[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const route of routes) {
    const attached = route.parents
      .filter((parent) => isAccepted(route, parent))
      .flatMap(({ attachments }) => attachments.map(({ listener }) => listener.key));
    for (const key of new Set(attached)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function compareByKey(left: { readonly key: string }, right: { readonly key: string }): number {
  return compareText(left.key, right.key);
}

function sortEntries<T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> {
  return Object.fromEntries([...entries].toSorted(([left], [right]) => compareText(left, right)));
}
