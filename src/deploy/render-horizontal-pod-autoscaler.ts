// The HorizontalPodAutoscaler of a Gateway's pods; only if an overlay requests it.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { isJson } from './merge-values.ts';
import { listWantedOverlays } from './optional-objects.ts';
import { nameObjects, type RenderedObject, renderObject } from './rendered-object.ts';

const defaultMaxReplicas = 10;

/** Renders the HorizontalPodAutoscaler; undefined if no overlay requests it. Without metrics Kubernetes aims at 80% of the requested CPU. */
export function renderHorizontalPodAutoscaler(
  plan: GatewayPlan,
  { overlays, replicas }: MergedParameters,
): RenderedObject | undefined {
  const wanted = listWantedOverlays(overlays, 'horizontalPodAutoscaler');
  if (wanted === undefined) return undefined;
  const minReplicas = Math.max(1, replicas ?? 1);
  const body = { spec: { minReplicas, maxReplicas: Math.max(defaultMaxReplicas, minReplicas) } };
  const rendered = renderObject(resourceTypes.HorizontalPodAutoscaler, plan, { body, overlays: wanted });
  const spec = isJson(rendered.object['spec']) ? rendered.object['spec'] : {};
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: nameObjects(plan) };
  return { ...rendered, object: { ...rendered.object, spec: { ...spec, scaleTargetRef } } };
}
