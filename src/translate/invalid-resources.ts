// Statuses of Gateways, HTTPRoutes and ProxyBackends that did not validate: they are treated as absent, and say so themselves.
// (GatewayClasses and ProxyPolicies have effects of their own, which their own files handle.)
import type { InvalidResource } from '../api/resources.ts';
import {
  createCondition,
  type GatewayStatus,
  type HttpRouteStatus,
  type ParentReference,
  type ProxyBackendStatus,
} from './conditions.ts';
import type { GatewayClasses } from './gateway-classes.ts';
import type { Gateways } from './gateways.ts';
import type { Described } from './list-statuses.ts';
import type { Derived, Memory } from './memory.ts';
import { readGeneration, readList, readMember, readText } from './read-raw.ts';
import { gatewayGroup } from './references.ts';
import { type ResourceIndex, formatProblems } from './resource-index.ts';

/** The statuses of what did not validate. */
interface InvalidStatuses {
  readonly gateways: readonly Described<GatewayStatus>[];
  readonly httpRoutes: readonly Described<HttpRouteStatus>[];
  readonly proxyBackends: readonly Described<ProxyBackendStatus>[];
}

/** Prepares the statuses of the invalid resources that belong to us. */
export function prepareInvalidStatuses(
  memory: Memory,
  index: ResourceIndex,
  classes: GatewayClasses,
  gateways: Gateways,
  controllerName: string,
): () => InvalidStatuses {
  const invalidGateways = memory.derive((place) =>
    describeEach(index, place, (invalid) => describeGateway(classes, invalid)),
  );
  const invalidRoutes = memory.derive((place) =>
    describeEach(index, place, (invalid) => describeRoute(gateways, controllerName, invalid)),
  );
  const invalidBackends = memory.derive((place) => describeEach(index, place, describeBackend));
  return () => {
    const places = [...index.invalid.entries()];
    const list = <T>(kind: string, statuses: Derived<readonly Described<T>[]>): readonly Described<T>[] =>
      places.flatMap(([place, [first]]) => (first?.kind === kind ? statuses.get(place) : []));
    return {
      gateways: list('Gateway', invalidGateways),
      httpRoutes: list('HTTPRoute', invalidRoutes),
      proxyBackends: list('ProxyBackend', invalidBackends),
    };
  };
}

function describeEach<T>(
  index: ResourceIndex,
  place: string,
  describe: (invalid: InvalidResource) => T | undefined,
): readonly Described<T>[] {
  return (index.invalid.get(place) ?? []).map((invalid) => ({
    name: `${invalid.namespace}/${invalid.name}`,
    status: describe(invalid),
  }));
}

function describeGateway({ states }: GatewayClasses, invalid: InvalidResource): GatewayStatus | undefined {
  const className = readText(invalid.raw, 'spec', 'gatewayClassName');
  if (className === undefined || states.get(className).state !== 'ours') return undefined;
  const generation = readGeneration(invalid.raw);
  const message = formatProblems(invalid);
  return {
    conditions: [
      createCondition('gateway', 'Accepted', 'False', 'Invalid', message, generation),
      createCondition('gateway', 'Programmed', 'False', 'Invalid', message, generation),
    ],
    listeners: [],
  };
}

function describeRoute(
  gateways: Gateways,
  controllerName: string,
  invalid: InvalidResource,
): HttpRouteStatus | undefined {
  const parents = readParents(invalid, gateways);
  if (parents.length === 0) return undefined;
  const generation = readGeneration(invalid.raw);
  const message = formatProblems(invalid);
  const conditions = [createCondition('routeParent', 'Accepted', 'False', 'UnsupportedValue', message, generation)];
  return { parents: parents.map((parentRef) => ({ parentRef, controllerName, conditions })) };
}

function describeBackend(invalid: InvalidResource): ProxyBackendStatus {
  const generation = readGeneration(invalid.raw);
  return {
    conditions: [createCondition('proxyBackend', 'Accepted', 'False', 'Invalid', formatProblems(invalid), generation)],
  };
}

function readParents({ namespace, raw }: InvalidResource, gateways: Gateways): readonly ParentReference[] {
  const parents: ParentReference[] = [];
  for (const reference of readList(raw, 'spec', 'parentRefs') ?? []) {
    const name = readText(reference, 'name');
    const other = readText(reference, 'namespace');
    const sectionName = readText(reference, 'sectionName');
    const port = readMember(reference, 'port');
    const kind = readText(reference, 'kind') ?? 'Gateway';
    const group = readMember(reference, 'group') ?? gatewayGroup;
    if (
      name === undefined ||
      group !== gatewayGroup ||
      kind !== 'Gateway' ||
      gateways.find.get(`${other ?? namespace}/${name}`) === undefined
    )
      continue;
    parents.push({
      group: gatewayGroup,
      kind,
      ...(other === undefined ? {} : { namespace: other }),
      name,
      ...(sectionName === undefined ? {} : { sectionName }),
      ...(typeof port === 'number' && Number.isInteger(port) ? { port } : {}),
    });
  }
  return parents;
}
