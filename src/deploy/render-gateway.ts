// Renders all objects of one Gateway: the table of contents. Pure: the same plan and settings give the same objects.
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { mergeParameters } from './merge-parameters.ts';
import { renderConfigMap } from './render-config-map.ts';
import { renderDeployment } from './render-deployment.ts';
import { renderHorizontalPodAutoscaler } from './render-horizontal-pod-autoscaler.ts';
import { renderNetworkPolicy } from './render-network-policy.ts';
import { renderPodDisruptionBudget } from './render-pod-disruption-budget.ts';
import { renderService } from './render-service.ts';
import { renderServiceAccount } from './render-service-account.ts';
import type { RenderedObject } from './rendered-object.ts';
import { StrategicMergeError } from './strategic-merge.ts';

/** The objects of a Gateway. */
export type RenderedGateway =
  | {
      readonly ok: true;
      /** In the order of creation: the dependencies of pods come first. */
      readonly objects: readonly RenderedObject[];
      /** Kinds whose existing objects are left as they are. */
      readonly untouched: readonly string[];
      /** The autoscaler decides how many pods there are. */
      readonly isAutoscaled: boolean;
      /** Why requested addresses are not available, for the owner of the Gateway. */
      readonly problems: readonly string[];
    }
  /** The parameters cannot be rendered; existing objects stay as they are. */
  | { readonly ok: false; readonly problem: string };

/** Renders everything for a Gateway. */
export function renderGateway(plan: GatewayPlan, settings: DeploySettings): RenderedGateway {
  try {
    const parameters = mergeParameters(plan.parameters);
    const serviceAccount = renderServiceAccount(plan, parameters);
    const configMap = renderConfigMap(plan, settings);
    const networkPolicy = renderNetworkPolicy(plan, parameters, settings);
    const { service, problems } = renderService(plan, parameters);
    const autoscaler = renderHorizontalPodAutoscaler(plan, parameters);
    // With an autoscaler, `replicas` is only the minimum: the autoscaler sets the number of pods.
    const deployed = autoscaler === undefined ? parameters : { ...parameters, replicas: undefined };
    const deployment = renderDeployment(plan, deployed, settings, { serviceAccount });
    const budget = renderPodDisruptionBudget(plan, parameters);
    const objects = [serviceAccount, configMap, networkPolicy, service, deployment, autoscaler, budget];
    return {
      ok: true,
      objects: objects.filter((object) => object !== undefined),
      untouched: service === undefined ? ['Service'] : [],
      isAutoscaled: autoscaler !== undefined,
      problems,
    };
  } catch (error) {
    if (error instanceof StrategicMergeError)
      return { ok: false, problem: `an overlay cannot be applied: ${error.message}` };
    throw error;
  }
}
