// Which listeners an HTTPRoute attaches to, parentRef by parentRef: section and port, allowedRoutes, then host names.
import type { HttpRoute } from '../api/http-route.ts';
import { matchesLabels } from '../api/label-selector.ts';
import type { ParentReference } from '../api/parent-reference.ts';
import type { ConditionReason } from './conditions.ts';
import type { ResolvedGateway } from './gateways.ts';
import { intersectHostnames } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { Notices } from './notices.ts';
import { gatewayGroup } from './references.ts';
import type { ResourceIndex } from './resource-index.ts';
import { describeAbsence, readNamespaceLabels } from './resource-index.ts';

/** A listener that a route is attached to, with the host names it has there (none means any). */
export interface Attachment {
  readonly listener: ResolvedListener;
  readonly hostnames: readonly string[];
}

/** What became of one parentRef to a Gateway of ours. */
export interface RouteParentResult {
  readonly parentRef: ParentReference;
  readonly gateway: ResolvedGateway;
  readonly attachments: readonly Attachment[];
  /** Set when there is no attachment. */
  readonly refusal:
    | {
        readonly reason: ConditionReason<'routeParent', 'Accepted'>;
        readonly status: 'False' | 'Unknown';
        readonly message: string;
      }
    | undefined;
}

/** Our Gateways and their listeners, by the Gateway's namespace/name. */
export interface Parents {
  readonly gateways: ReadonlyMap<string, ResolvedGateway>;
  readonly listeners: ReadonlyMap<string, readonly ResolvedListener[]>;
}

/** Attaches a route to the listeners of our Gateways. Parents that do not exist are noted: they have no condition to say it. */
export function attachRoute(
  index: ResourceIndex,
  parents: Parents,
  route: HttpRoute,
  notices: Notices,
): readonly RouteParentResult[] {
  const references = route.spec.parentRefs ?? [];
  if (references.length === 0) notices.add('HTTPRoute', route, 'is not served: it has no parentRefs; name a Gateway');
  const results: RouteParentResult[] = [];
  for (const parentRef of references) {
    const { group, kind, name } = parentRef;
    if (group !== gatewayGroup || kind !== 'Gateway') {
      notices.add(
        'HTTPRoute',
        route,
        `parentRef ${group === '' ? '' : `${group}/`}${kind} ${name} is left alone: only Gateways serve routes here`,
      );
      continue;
    }
    const namespace = parentRef.namespace ?? route.metadata.namespace;
    const gateway = parents.gateways.get(`${namespace}/${name}`);
    if (gateway !== undefined) {
      results.push({
        parentRef,
        gateway,
        ...attachToGateway(index, gateway, parents.listeners.get(gateway.name) ?? [], route, parentRef),
      });
    } else if (!index.gateways.has(`${namespace}/${name}`)) {
      notices.add(
        'HTTPRoute',
        route,
        `parentRef Gateway ${namespace}/${name} ${describeAbsence(index, 'Gateway', namespace, name)}`,
      );
    }
  }
  return results;
}

function attachToGateway(
  index: ResourceIndex,
  gateway: ResolvedGateway,
  listeners: readonly ResolvedListener[],
  route: HttpRoute,
  { sectionName, port }: ParentReference,
): Pick<RouteParentResult, 'attachments' | 'refusal'> {
  if (gateway.pending !== undefined)
    return refuse('Pending', `Gateway ${gateway.name} is not ready: ${gateway.pending}`, 'Unknown');
  const named = listeners.filter(
    ({ spec }) =>
      (sectionName === undefined || spec.name === sectionName) && (port === undefined || spec.port === port),
  );
  if (named.length === 0) {
    const section = sectionName === undefined ? '' : ` ${sectionName}`;
    return refuse(
      'NoMatchingParent',
      `Gateway ${gateway.name} has no listener${section}${port === undefined ? '' : ` on port ${port}`}`,
    );
  }
  const takers = named.filter(({ takesHttpRoutes }) => takesHttpRoutes);
  if (takers.length === 0)
    return refuse('NotAllowedByListeners', `HTTPRoutes cannot attach to ${describeListeners(named)}`);
  const open = takers.filter((listener) => isAllowed(index, listener, route));
  if (open.length === 0) {
    const what = `HTTPRoutes of namespace ${route.metadata.namespace}`;
    return refuse('NotAllowedByListeners', `${what} are not allowed by ${describeListeners(takers)}`);
  }
  const attachments = open.flatMap((listener) => {
    const hostnames = intersectHostnames(listener.spec.hostname, route.spec.hostnames ?? []);
    return hostnames === undefined ? [] : [{ listener, hostnames }];
  });
  if (attachments.length === 0) {
    const hostnames = (route.spec.hostnames ?? []).join(', ');
    return refuse('NoMatchingListenerHostname', `none of ${hostnames} is a host of ${describeListeners(open)}`);
  }
  return { attachments, refusal: undefined };
}

function isAllowed(index: ResourceIndex, { spec, gateway }: ResolvedListener, route: HttpRoute): boolean {
  const { from, selector } = spec.allowedRoutes.namespaces;
  const { namespace } = route.metadata;
  if (from === 'All') return true;
  if (from === 'Same') return namespace === gateway.gateway.metadata.namespace;
  return selector !== undefined && matchesLabels(selector, readNamespaceLabels(index, namespace));
}

function describeListeners(listeners: readonly ResolvedListener[]): string {
  return `listener ${listeners.map(({ key }) => key).join(', ')}`;
}

function refuse(
  reason: ConditionReason<'routeParent', 'Accepted'>,
  message: string,
  status: 'False' | 'Unknown' = 'False',
): Pick<RouteParentResult, 'attachments' | 'refusal'> {
  return { attachments: [], refusal: { reason, status, message } };
}
