// Merges the GatewayParameters of the class and of the Gateway: later ones win field by field, maps merge by key, lists are replaced.
import type { GatewayParameters, GatewayParametersSpec } from '../api/gateway-parameters.ts';
import type { DeployOverlays } from '../api/deploy-overlays.ts';
import { mergeValues } from './merge-values.ts';

/** Merged parameters. Overlays are not merged: they are applied one after the other. */
export interface MergedParameters extends Omit<GatewayParametersSpec, 'overlays'> {
  readonly overlays: readonly DeployOverlays[];
}

/** Merges parameters, the most general first. */
export function mergeParameters(parameters: readonly GatewayParameters[]): MergedParameters {
  let merged: Omit<GatewayParametersSpec, 'overlays'> = {};
  const overlays: DeployOverlays[] = [];
  for (const { spec } of parameters) {
    const { overlays: own, ...later } = spec;
    merged = mergeValues(dropReplaced(merged, later), later);
    if (own !== undefined) overlays.push(own);
  }
  return { ...merged, overlays };
}

/** Drops earlier fields that contradict later ones. */
function dropReplaced(
  { image, service, ...rest }: Omit<GatewayParametersSpec, 'overlays'>,
  later: GatewayParametersSpec,
): Omit<GatewayParametersSpec, 'overlays'> {
  return {
    ...rest,
    ...(image !== undefined && { image: dropVersion(image, later.image) }),
    ...(service !== undefined && { service: dropExposure(service, later.service?.type) }),
  };
}

/** A tag and a digest name one version together: if a later image sets one of them, both earlier ones are dropped. */
function dropVersion(
  image: NonNullable<GatewayParametersSpec['image']>,
  later: GatewayParametersSpec['image'],
): NonNullable<GatewayParametersSpec['image']> {
  if (later?.tag === undefined && later?.digest === undefined) return image;
  const { tag: _tag, digest: _digest, ...rest } = image;
  return rest;
}

/** Drops the fields that the API server would refuse for the later type. */
function dropExposure(
  service: NonNullable<GatewayParametersSpec['service']>,
  type: NonNullable<GatewayParametersSpec['service']>['type'],
): NonNullable<GatewayParametersSpec['service']> {
  const { externalTrafficPolicy, loadBalancerClass, ...rest } = service;
  if (type === undefined) return service;
  return {
    ...rest,
    ...(externalTrafficPolicy !== undefined && type !== 'ClusterIP' && { externalTrafficPolicy }),
    ...(loadBalancerClass !== undefined && type === 'LoadBalancer' && { loadBalancerClass }),
  };
}
