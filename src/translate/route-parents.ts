// Which listeners an HTTPRoute attaches to, parentRef by parentRef: section and port, allowedRoutes, then host names.
import type { HttpRoute } from '../api/http-route.ts';
import { matchesLabels } from '../api/label-selector.ts';
import type { ParentReference } from '../api/parent-reference.ts';
import type { AttachListener, AttachPoint } from './attach-points.ts';
import type { ConditionReason } from './conditions.ts';
import { intersectHostnames } from './hostnames.ts';
import type { Derived } from './memory.ts';
import { gatewayGroup } from './references.ts';
import { type ResourceIndex, describeAbsence, readNamespaceLabels } from './resource-index.ts';

/** A listener that a route is attached to, with the host names it has there (none means any). */
interface Attachment {
  readonly listener: AttachListener;
  readonly hostnames: readonly string[];
}

/** What became of one parentRef to a Gateway of ours. */
export interface RouteParentResult {
  readonly parentRef: ParentReference;
  /** namespace/name */
  readonly gateway: string;
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

/** What became of all parentRefs. */
export interface RouteParents {
  readonly results: readonly RouteParentResult[];
  /** Remarks about parents that do not exist: those have no conditions. */
  readonly remarks: readonly string[];
}

/** Attaches a route to the listeners of our Gateways. */
export function attachRoute(
  index: ResourceIndex,
  attachPoints: Derived<AttachPoint | undefined>,
  route: HttpRoute,
): RouteParents {
  const references = route.spec.parentRefs ?? [];
  if (references.length === 0) return { results: [], remarks: ['is not served: it has no parentRefs; name a Gateway'] };
  const results: RouteParentResult[] = [];
  const remarks: string[] = [];
  for (const parentRef of references) {
    const { group, kind, name } = parentRef;
    if (group !== gatewayGroup || kind !== 'Gateway') {
      const what = `${group === '' ? '' : `${group}/`}${kind} ${name}`;
      remarks.push(`parentRef ${what} is ignored: only Gateways can serve routes`);
      continue;
    }
    const namespace = parentRef.namespace ?? route.metadata.namespace;
    const gateway = `${namespace}/${name}`;
    const attachPoint = attachPoints.get(gateway);
    if (attachPoint !== undefined)
      results.push({ parentRef, gateway, ...attachToGateway(index, attachPoint, route, parentRef) });
    else if (!index.gateways.has(gateway))
      remarks.push(`parentRef Gateway ${gateway} ${describeAbsence(index, 'Gateway', namespace, name)}`);
  }
  return { results, remarks };
}

function attachToGateway(
  index: ResourceIndex,
  { gateway, namespace, pending, listeners }: AttachPoint,
  route: HttpRoute,
  { sectionName, port }: ParentReference,
): Pick<RouteParentResult, 'attachments' | 'refusal'> {
  if (pending !== undefined) return refuse('Pending', `Gateway ${gateway} is not ready: ${pending}`, 'Unknown');
  const named = listeners.filter(
    (listener) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  );
  if (named.length === 0) {
    const section = sectionName === undefined ? '' : ` ${sectionName}`;
    const present = listeners.map((each) => `${each.name} on port ${each.port}`).join(', ');
    return refuse(
      'NoMatchingParent',
      `Gateway ${gateway} has no listener${section}${port === undefined ? '' : ` on port ${port}`}; it has ${present}`,
    );
  }
  const takers = named.filter(({ takesHttpRoutes }) => takesHttpRoutes);
  if (takers.length === 0)
    return refuse('NotAllowedByListeners', `HTTPRoutes cannot attach to ${describeListeners(named)}`);
  const open = takers.filter((listener) => isAllowed(index, listener, namespace, route));
  if (open.length === 0) {
    const what = `HTTPRoutes of namespace ${route.metadata.namespace}`;
    return refuse('NotAllowedByListeners', `${what} are not allowed by ${describeListeners(takers)}`);
  }
  const attachments = open.flatMap((listener) => {
    const hostnames = intersectHostnames(listener.hostname, route.spec.hostnames ?? []);
    return hostnames === undefined ? [] : [{ listener, hostnames }];
  });
  if (attachments.length === 0) {
    const hostnames = (route.spec.hostnames ?? []).join(', ');
    return refuse(
      'NoMatchingListenerHostname',
      `none of ${hostnames} matches the hostname of ${describeListeners(open)}`,
    );
  }
  return { attachments, refusal: undefined };
}

function isAllowed(
  index: ResourceIndex,
  { namespaces: { from, selector } }: AttachListener,
  gatewayNamespace: string,
  { metadata: { namespace } }: HttpRoute,
): boolean {
  if (from === 'All') return true;
  if (from === 'Same') return namespace === gatewayNamespace;
  return selector !== undefined && matchesLabels(selector, readNamespaceLabels(index, namespace));
}

function describeListeners(listeners: readonly AttachListener[]): string {
  return `listener ${listeners.map(({ key }) => key).join(', ')}`;
}

function refuse(
  reason: ConditionReason<'routeParent', 'Accepted'>,
  message: string,
  status: 'False' | 'Unknown' = 'False',
): Pick<RouteParentResult, 'attachments' | 'refusal'> {
  return { attachments: [], refusal: { reason, status, message } };
}
