// The Service of a Gateway: each listener's port, mapped to the same port of the pods.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { selectPods } from './deployed-names.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { isJson, type Json } from './merge-values.ts';
import { listOverlays, type RenderedObject, renderObject } from './rendered-object.ts';

/** A Service, and why it cannot have some of the Gateway's addresses. */
interface RenderedService {
  /** Undefined without ports: a Service needs one. An existing Service stays, and keeps its address. */
  readonly service: RenderedObject | undefined;
  readonly problems: readonly string[];
}

/** Renders the Service. */
export function renderService(plan: GatewayPlan, parameters: MergedParameters): RenderedService {
  const { service } = parameters;
  const type = service?.type ?? 'LoadBalancer';
  const { address, problems } = chooseAddress(plan, type);
  if (plan.ports.length === 0) return { service: undefined, problems };
  const selector = selectPods(plan.gateway);
  const rendered = renderObject(resourceTypes.Service, plan, {
    annotations: service?.annotations,
    body: {
      spec: {
        type,
        selector,
        ports: namePorts(plan.ports),
        ...(service?.externalTrafficPolicy !== undefined && { externalTrafficPolicy: service.externalTrafficPolicy }),
        ...(service?.loadBalancerClass !== undefined && { loadBalancerClass: service.loadBalancerClass }),
        ...(address !== undefined && { loadBalancerIP: address }),
      },
    },
    overlays: listOverlays(parameters.overlays, 'service'),
  });
  const spec = isJson(rendered.object['spec']) ? rendered.object['spec'] : {};
  return { service: { ...rendered, object: { ...rendered.object, spec: { ...spec, selector } } }, problems };
}

/** Requests the first address; a Service has no field for more. */
function chooseAddress(
  { addresses: [address, ...others] }: GatewayPlan,
  type: string,
): { readonly address: string | undefined; readonly problems: readonly string[] } {
  if (address === undefined) return { address: undefined, problems: [] };
  if (type !== 'LoadBalancer')
    return {
      address: undefined,
      problems: [
        `spec.addresses: only a Service of type LoadBalancer can be given an address, and this Service is of type ${type}`,
      ],
    };
  const problems = others.map(
    (other) => `spec.addresses: ${other} cannot be assigned beside ${address}: a Service has one address`,
  );
  return { address, problems };
}

/** Ports of a Service have unique names (RFC 1123 labels); a listener's name may not be such a label. */
function namePorts(ports: GatewayPlan['ports']): readonly Json[] {
  const isLabel = (name: string): boolean => name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
  const taken = new Set(ports.map(({ name }) => name).filter(isLabel));
  return ports.map(({ name, port }) => {
    let chosen = isLabel(name) ? name : `port-${port}`;
    while (chosen !== name && taken.has(chosen)) chosen = `x-${chosen}`;
    taken.add(chosen);
    return { name: chosen, port, targetPort: port, protocol: 'TCP' };
  });
}
