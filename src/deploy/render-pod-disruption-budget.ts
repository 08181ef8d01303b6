// The PodDisruptionBudget of a Gateway's pods, for those who ask for one by an overlay.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { selectPods } from './deployed-names.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { isJson } from './merge-values.ts';
import { listWantedOverlays } from './optional-objects.ts';
import { type RenderedObject, renderObject } from './rendered-object.ts';

/** Renders the PodDisruptionBudget; undefined when nobody asks for one. */
export function renderPodDisruptionBudget(
  plan: GatewayPlan,
  { overlays }: MergedParameters,
): RenderedObject | undefined {
  const wanted = listWantedOverlays(overlays, 'podDisruptionBudget');
  if (wanted === undefined) return undefined;
  const rendered = renderObject(resourceTypes.PodDisruptionBudget, plan, { body: { spec: {} }, overlays: wanted });
  const spec = isJson(rendered.object['spec']) ? rendered.object['spec'] : {};
  const isBounded = spec['minAvailable'] !== undefined || spec['maxUnavailable'] !== undefined;
  return {
    ...rendered,
    object: {
      ...rendered.object,
      // minAvailable would keep a node with the only pod from ever being emptied.
      spec: { ...(!isBounded && { maxUnavailable: 1 }), ...spec, selector: { matchLabels: selectPods(plan.gateway) } },
    },
  };
}
