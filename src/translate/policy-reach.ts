// How far a policy reaches: the Gateways that a target's traffic comes through, and whether anything of it is served at all.
import type { Listener, Route } from '../ir/gen/config_pb.ts';
import { formatProxyBackendKey } from '../ir/resource-keys.ts';
import type { Gateways } from './gateways.ts';
import type { ResolvedListener } from './listeners.ts';
import type { Derived, Memory, Table } from './memory.ts';
import type { PolicyTarget } from './policy-targets.ts';
import type { ResourceIndex } from './resource-index.ts';
import type { TranslatedRoute } from './routes.ts';

/** Answers for targets. */
export interface PolicyReach {
  /** namespace/name of our Gateways that the target's traffic comes through, or would if they served it. */
  readonly listGateways: (target: PolicyTarget) => readonly string[];
  /** Of those, the Gateways whose configuration has something that the target names. */
  readonly listServingGateways: (target: PolicyTarget) => readonly string[];
  /** The names of a Gateway's listeners that serve the target. */
  readonly listServingListeners: (target: PolicyTarget, gateway: string) => readonly string[];
  /** Whether the configuration has anything that the target names. */
  readonly isServed: (target: PolicyTarget) => boolean;
  /** The rules that are served and send requests to a ProxyBackend; none for other targets. */
  readonly listRules: (target: PolicyTarget) => readonly Route[];
  /** The message of a listener of ours, by its key. */
  readonly findListener: (key: string) => Listener | undefined;
}

/** Where reach is traced. */
interface ReachSurroundings {
  readonly memory: Memory;
  readonly index: ResourceIndex;
  readonly gateways: Gateways;
  readonly listeners: Derived<readonly ResolvedListener[]>;
  readonly routes: Derived<TranslatedRoute | undefined>;
  /** Names of the routes that lead to a backend, by its key. */
  readonly backendUsers: Table<readonly string[]>;
}

/** Prepares the lookup over listeners and routes. */
export function prepareReach(surroundings: ReachSurroundings): PolicyReach {
  const { memory, gateways, listeners, routes } = surroundings;
  const ofNamespace = memory.derive((namespace) => listGatewaysOfNamespace(surroundings, namespace));
  // Derived separately, so that a policy depends on the message of a listener and on nothing else of the Gateway.
  const ofListener = memory.derive((key) => {
    const [namespace = '', gateway = ''] = key.split('/');
    return listeners.get(`${namespace}/${gateway}`).find((listener) => listener.key === key)?.message;
  });
  const findRoutes = (target: PolicyTarget): readonly TranslatedRoute[] => {
    if (target.kind === 'Gateway' || target.kind === 'Namespace') return [];
    const { namespace, name } = target;
    const names =
      target.kind === 'HTTPRoute'
        ? [`${namespace}/${name}`]
        : (surroundings.backendUsers.get(formatProxyBackendKey(namespace, name)) ?? []);
    return names.flatMap((each) => routes.get(each) ?? []);
  };
  const isServedBy = (target: PolicyTarget, { messages }: TranslatedRoute): boolean => {
    const sectionName = target.kind === 'Namespace' ? '' : target.sectionName;
    return messages.some(({ ruleName }) => sectionName === '' || ruleName === sectionName);
  };
  const isGatewayServed = (name: string, sectionName: string): boolean =>
    listeners.get(name).some(({ isServed, spec }) => isServed && (sectionName === '' || spec.name === sectionName));
  return {
    listGateways(target) {
      if (target.kind === 'Namespace') return ofNamespace.get(target.namespace);
      const name = `${target.namespace}/${target.name}`;
      if (target.kind === 'Gateway') return gateways.find.get(name) === undefined ? [] : [name];
      return sortUnique(findRoutes(target).map((route) => route.gateways));
    },
    listServingGateways(target) {
      if (target.kind === 'Namespace') return ofNamespace.get(target.namespace);
      const name = `${target.namespace}/${target.name}`;
      if (target.kind === 'Gateway') return isGatewayServed(name, target.sectionName) ? [name] : [];
      const serving = findRoutes(target).filter((route) => isServedBy(target, route));
      return sortUnique(serving.map(({ servingGateways }) => servingGateways));
    },
    listServingListeners(target, gateway) {
      const served = listeners.get(gateway).filter(({ isServed }) => isServed);
      if (target.kind === 'Namespace') return served.map(({ spec }) => spec.name);
      if (target.kind === 'Gateway')
        return served
          .filter(({ spec }) => target.sectionName === '' || spec.name === target.sectionName)
          .map(({ spec }) => spec.name);
      const keys = new Set(
        findRoutes(target).flatMap(({ messages }) =>
          messages
            .filter(({ ruleName }) => target.sectionName === '' || ruleName === target.sectionName)
            .flatMap(({ parents }) => parents.map(({ listener }) => listener)),
        ),
      );
      return served.filter(({ key }) => keys.has(key)).map(({ spec }) => spec.name);
    },
    listRules(target) {
      if (target.kind !== 'ProxyBackend') return [];
      const key = formatProxyBackendKey(target.namespace, target.name);
      return findRoutes(target).flatMap(({ messages }) =>
        messages.filter(({ backends }) => backends.some(({ backend }) => backend === key)),
      );
    },
    findListener: (key) => ofListener.get(key),
    isServed(target) {
      if (target.kind === 'Namespace') return true;
      if (target.kind === 'Gateway') return isGatewayServed(`${target.namespace}/${target.name}`, target.sectionName);
      return findRoutes(target).some((route) => isServedBy(target, route));
    },
  };
}

// What lies in the namespace: Gateways, routes, and ProxyBackends that routes of other namespaces may lead to.
function listGatewaysOfNamespace(
  { index, gateways, routes, backendUsers }: ReachSurroundings,
  namespace: string,
): readonly string[] {
  const inside = (names: Iterable<string>, prefix: string): readonly string[] =>
    [...names].filter((name) => name.startsWith(prefix));
  const own = inside(index.gateways.entries().keys(), `${namespace}/`).filter(
    (name) => gateways.find.get(name) !== undefined,
  );
  const users = inside(backendUsers.entries().keys(), formatProxyBackendKey(namespace, '')).flatMap(
    (key) => backendUsers.get(key) ?? [],
  );
  const names = new Set([...inside(index.httpRoutes.entries().keys(), `${namespace}/`), ...users]);
  return sortUnique([own, ...[...names].map((name) => routes.get(name)?.gateways ?? [])]);
}

function sortUnique(lists: readonly (readonly string[])[]): readonly string[] {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined && only.length < 2) return only;
  return [...new Set(lists.flat())].toSorted();
}
