// The ConfigMap of a Gateway's pods: the CA of the controller's certificate. Gateways reload it when it changes.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { caEntry } from './gateway-container.ts';
import { type RenderedObject, renderObject } from './rendered-object.ts';

/** Renders the ConfigMap; undefined without TLS. */
export function renderConfigMap(plan: GatewayPlan, { xdsCa }: DeploySettings): RenderedObject | undefined {
  if (xdsCa === undefined) return undefined;
  return renderObject(resourceTypes.ConfigMap, plan, { body: { data: { [caEntry]: xdsCa } }, overlays: [] });
}
