// The PodDisruptionBudget of a Gateway's pods; only if an overlay requests it.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { selectPods } from './deployed-names.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { isJson } from './merge-values.ts';
import { listWantedOverlays } from './optional-objects.ts';
import { type RenderedObject, renderObject } from './rendered-object.ts';

/** Renders the PodDisruptionBudget; undefined if no overlay requests it. */
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
      // The default is maxUnavailable: with minAvailable, a node that runs the only pod could never be drained.
      spec: { ...(!isBounded && { maxUnavailable: 1 }), ...spec, selector: { matchLabels: selectPods(plan.gateway) } },
    },
  };
}
