// The ServiceAccount of a Gateway's pods: their identity at the controller. It has no rights, and its token is mounted only explicitly.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { choosePodInfrastructure, listOverlays, type RenderedObject, renderObject } from './rendered-object.ts';

/** Renders the ServiceAccount. */
export function renderServiceAccount(plan: GatewayPlan, parameters: MergedParameters): RenderedObject {
  return renderObject(resourceTypes.ServiceAccount, plan, {
    body: { automountServiceAccountToken: false },
    infrastructure: choosePodInfrastructure(plan, parameters),
    overlays: listOverlays(parameters.overlays, 'serviceAccount'),
  });
}
