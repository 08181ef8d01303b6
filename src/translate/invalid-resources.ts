// Statuses of Gateways, HTTPRoutes and ProxyBackends that did not validate: they are treated as absent, and say so themselves.
// (GatewayClasses and ProxyPolicies have consequences of their own and are looked at in their files.)
import type { InvalidResource } from '../api/resources.ts';
import { createCondition } from './conditions.ts';
import type { GatewayStatus, HttpRouteStatus, ParentReference, ProxyBackendStatus } from './conditions.ts';
import type { GatewayClasses } from './gateway-classes.ts';
import type { ResolvedGateway } from './gateways.ts';
import { readGeneration, readList, readMember, readText } from './read-raw.ts';
import { gatewayGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { formatProblems } from './resource-index.ts';

/** The statuses, by namespace/name. */
export interface InvalidStatuses {
  readonly gateways: ReadonlyMap<string, GatewayStatus>;
  readonly httpRoutes: ReadonlyMap<string, HttpRouteStatus>;
  readonly proxyBackends: ReadonlyMap<string, ProxyBackendStatus>;
}

/** Describes the invalid resources that are ours to describe. */
export function describeInvalidResources(
  index: ResourceIndex,
  classes: GatewayClasses,
  gateways: ReadonlyMap<string, ResolvedGateway>,
  controllerName: string,
): InvalidStatuses {
  const statuses = {
    gateways: new Map<string, GatewayStatus>(),
    httpRoutes: new Map<string, HttpRouteStatus>(),
    proxyBackends: new Map<string, ProxyBackendStatus>(),
  };
  for (const invalid of index.invalid) {
    const name = `${invalid.namespace}/${invalid.name}`;
    const generation = readGeneration(invalid.raw);
    const message = formatProblems(invalid);
    if (invalid.kind === 'Gateway') {
      const className = readText(invalid.raw, 'spec', 'gatewayClassName');
      if (className === undefined || classes.find(className) !== 'ours') continue;
      statuses.gateways.set(name, {
        conditions: [
          createCondition('gateway', 'Accepted', 'False', 'Invalid', message, generation),
          createCondition('gateway', 'Programmed', 'False', 'Invalid', message, generation),
        ],
        listeners: [],
      });
    }
    if (invalid.kind === 'HTTPRoute') {
      const parents = readParents(invalid, gateways);
      if (parents.length === 0) continue;
      const conditions = [createCondition('routeParent', 'Accepted', 'False', 'UnsupportedValue', message, generation)];
      statuses.httpRoutes.set(name, {
        parents: parents.map((parentRef) => ({ parentRef, controllerName, conditions })),
      });
    }
    if (invalid.kind === 'ProxyBackend')
      statuses.proxyBackends.set(name, {
        conditions: [createCondition('proxyBackend', 'Accepted', 'False', 'Invalid', message, generation)],
      });
  }
  return statuses;
}

function readParents(
  { namespace, raw }: InvalidResource,
  gateways: ReadonlyMap<string, ResolvedGateway>,
): readonly ParentReference[] {
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
      !gateways.has(`${other ?? namespace}/${name}`)
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
