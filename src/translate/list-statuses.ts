// Statuses by kind and name, in sorted order.
import type { Statuses } from './conditions.ts';
import { keepEqual, keepShallow } from './memory.ts';
import { compareText } from './order.ts';

/** Something that has a status, or none. */
export interface Described<T> {
  /** namespace/name, or the name of what has no namespace. */
  readonly name: string;
  readonly status: T | undefined;
}

/** Resources with their statuses, one or more lists for each kind. Of two with the same name the later one counts. */
type DescribedKinds = {
  readonly [K in keyof Statuses]: readonly (readonly Described<Statuses[K][string]>[])[];
};

/** Lists statuses. A status, a record or the whole that did not change stays the same object. */
export function prepareStatuses(): (kinds: DescribedKinds) => Statuses {
  const listGatewayClasses = prepareStatusList<Statuses['gatewayClasses'][string]>();
  const listGateways = prepareStatusList<Statuses['gateways'][string]>();
  const listHttpRoutes = prepareStatusList<Statuses['httpRoutes'][string]>();
  const listProxyBackends = prepareStatusList<Statuses['proxyBackends'][string]>();
  const listProxyPolicies = prepareStatusList<Statuses['proxyPolicies'][string]>();
  const listInferencePools = prepareStatusList<Statuses['inferencePools'][string]>();
  let last: Statuses | undefined;
  return ({ gatewayClasses, gateways, httpRoutes, proxyBackends, proxyPolicies, inferencePools }) =>
    (last = keepShallow(last, {
      gatewayClasses: listGatewayClasses(gatewayClasses),
      gateways: listGateways(gateways),
      httpRoutes: listHttpRoutes(httpRoutes),
      proxyBackends: listProxyBackends(proxyBackends),
      proxyPolicies: listProxyPolicies(proxyPolicies),
      inferencePools: listInferencePools(inferencePools),
    }));
}

function prepareStatusList<T>(): (lists: readonly (readonly Described<T>[])[]) => Readonly<Record<string, T>> {
  let last: readonly Described<T>[] = [];
  let record: Readonly<Record<string, T>> = {};
  return (lists) => {
    const described = lists.flat().filter(({ status }) => status !== undefined);
    const sorted = isSorted(described)
      ? described
      : described.toSorted((left, right) => compareText(left.name, right.name));
    const isSame =
      sorted.length === last.length &&
      sorted.every(({ name, status }, at) => name === last[at]?.name && status === last[at].status);
    if (!isSame) {
      const known = record;
      record = Object.fromEntries(sorted.map(({ name, status }) => [name, keepEqual(known[name], status as T)]));
    }
    last = sorted;
    return record;
  };
}

function isSorted(described: readonly { readonly name: string }[]): boolean {
  return described.every(({ name }, at) => at === 0 || described[at - 1]!.name < name);
}
