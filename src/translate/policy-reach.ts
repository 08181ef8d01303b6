// How far a policy reaches: the Gateways that a target's traffic comes through, and whether anything of it is served at all.
import type { Filter, Route } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import type { ResolvedGateway } from './gateways.ts';
import type { ResolvedListener } from './listeners.ts';
import type { PolicyTarget } from './policy-targets.ts';
import type { TranslatedRoute } from './routes.ts';

/** Answers for targets. */
export interface PolicyReach {
  /** namespace/name of our Gateways that the target's traffic comes through. */
  readonly listGateways: (target: PolicyTarget) => readonly string[];
  /** Whether the configuration has anything that the target names. */
  readonly isServed: (target: PolicyTarget) => boolean;
  /** The rules that are served and send requests to a ProxyBackend; none for other targets. */
  readonly listRules: (target: PolicyTarget) => readonly Route[];
}

/** Follows listeners and routes. */
export function traceReach(
  gateways: readonly ResolvedGateway[],
  listeners: readonly ResolvedListener[],
  routes: readonly TranslatedRoute[],
): PolicyReach {
  const servedSections = new Set(
    listeners
      .filter(({ isServed }) => isServed)
      .flatMap(({ gateway, spec }) => [gateway.name, `${gateway.name}/${spec.name}`]),
  );
  const routesByName = new Map(routes.map((route) => [route.name, route]));
  const routesByBackend = new Map<string, Set<TranslatedRoute>>();
  for (const route of routes) {
    for (const key of route.messages.flatMap(listBackends)) {
      const users = routesByBackend.get(key) ?? new Set();
      routesByBackend.set(key, users.add(route));
    }
  }
  const findRoutes = (target: PolicyTarget): readonly TranslatedRoute[] => {
    if (target.kind === 'Gateway') return [];
    if (target.kind === 'ProxyBackend')
      return [...(routesByBackend.get(formatProxyBackendKey(target.namespace, target.name)) ?? [])];
    if (target.kind === 'HTTPRoute')
      return [routesByName.get(`${target.namespace}/${target.name}`)].filter((route) => route !== undefined);
    const prefix = formatProxyBackendKey(target.namespace, '');
    const users = [...routesByBackend].filter(([key]) => key.startsWith(prefix)).flatMap(([, each]) => [...each]);
    return [...routes.filter(({ route }) => route.metadata.namespace === target.namespace), ...users];
  };
  const findGateways = (target: PolicyTarget): readonly string[] =>
    gateways
      .filter(({ gateway, name }) =>
        target.kind === 'Gateway'
          ? name === `${target.namespace}/${target.name}`
          : target.kind === 'Namespace' && gateway.metadata.namespace === target.namespace,
      )
      .map(({ name }) => name);
  return {
    listGateways(target) {
      const throughRoutes = findRoutes(target).flatMap(({ parents }) =>
        parents.filter(({ attachments }) => attachments.length > 0).map(({ gateway }) => gateway.name),
      );
      return [...new Set([...findGateways(target), ...throughRoutes])].toSorted();
    },
    listRules(target) {
      if (target.kind !== 'ProxyBackend') return [];
      const key = formatProxyBackendKey(target.namespace, target.name);
      return findRoutes(target).flatMap(({ messages }) =>
        messages.filter(({ backends }) => backends.some(({ backend }) => backend === key)),
      );
    },
    isServed(target) {
      if (target.kind === 'Namespace') return true;
      if (target.kind === 'Gateway') {
        const name = `${target.namespace}/${target.name}`;
        return servedSections.has(target.sectionName === '' ? name : `${name}/${target.sectionName}`);
      }
      return findRoutes(target).some(({ messages }) =>
        messages.some(({ ruleName }) => target.sectionName === '' || ruleName === target.sectionName),
      );
    },
  };
}

/** The keys of the backends that a route sends to or mirrors to. */
export function listBackends({ backends, filters }: Route): readonly string[] {
  const mirrors = [...filters, ...backends.flatMap((backend) => backend.filters)].flatMap(readMirror);
  return [...backends.flatMap(({ backend }) => (backend === '' ? [] : [backend])), ...mirrors];
}

function readMirror({ filter }: Filter): readonly string[] {
  return filter.case === 'requestMirror' ? [filter.value.backend] : [];
}
