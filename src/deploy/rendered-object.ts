// The common parts of rendered objects: kind, name, labels, annotations and owner; and the application of overlays.
import type { DeployOverlays } from '../api/deploy-overlays.ts';
import type { KubernetesObject, OwnerReference } from '../kubernetes/client.ts';
import { formatApiVersion, type ResourceType } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { choosePodMetadata } from '../translate/pod-metadata.ts';
import { labelDeployed, nameDeployed } from './deployed-names.ts';
import type { MergedParameters } from './merge-parameters.ts';
import { isJson, type Json } from './merge-values.ts';
import { mergeStrategically } from './strategic-merge.ts';

/** A desired object, with its resource type. */
export interface RenderedObject {
  readonly type: ResourceType;
  readonly object: KubernetesObject;
}

/** The name of all objects that are deployed for a Gateway. */
export function nameObjects({ gateway }: GatewayPlan): string {
  return nameDeployed(gateway.metadata.name, gateway.spec.gatewayClassName);
}

/** Labels and annotations of pods, and of what decides about pods. */
interface PodMetadata {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Those of the Gateway that pods may have: others could bring containers or rights into them. */
export function choosePodInfrastructure(plan: GatewayPlan, { delegation }: MergedParameters): PodMetadata {
  const { labels, annotations } = plan.gateway.spec.infrastructure ?? {};
  return {
    labels: choosePodMetadata(labels, delegation),
    annotations: choosePodMetadata(annotations, delegation),
  };
}

/** The content of an object, without its identity. */
interface ObjectContent {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Labels and annotations in place of those that the Gateway wants on everything. */
  readonly infrastructure?: PodMetadata;
  readonly body: Json;
  readonly overlays: readonly (Json | undefined)[];
}

/** Renders an object: the content, then overlays in order, then its identity and owner again, which overlays must not change. */
export function renderObject(type: ResourceType, plan: GatewayPlan, content: ObjectContent): RenderedObject {
  const infrastructure = content.infrastructure ?? plan.gateway.spec.infrastructure;
  const identity = { apiVersion: formatApiVersion(type), kind: type.kind };
  const annotations = { ...infrastructure?.annotations, ...content.annotations };
  let object: Json = {
    ...identity,
    metadata: {
      ...(infrastructure?.labels !== undefined && { labels: infrastructure.labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    ...content.body,
  };
  for (const overlay of content.overlays)
    if (overlay !== undefined) object = mergeStrategically(type.kind, object, overlay);
  const merged = isJson(object['metadata']) ? object['metadata'] : {};
  const labels = isJson(merged['labels']) ? (merged['labels'] as Readonly<Record<string, string>>) : {};
  const metadata = {
    ...merged,
    name: nameObjects(plan),
    namespace: plan.gateway.metadata.namespace,
    labels: { ...labels, ...labelDeployed(plan.gateway) },
    ownerReferences: [describeOwner(plan)],
  };
  return { type, object: { ...object, ...identity, metadata } };
}

function describeOwner({ gateway }: GatewayPlan): OwnerReference {
  const { name, uid = '' } = gateway.metadata;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The overlays of one kind, in order. */
export function listOverlays(
  overlays: readonly DeployOverlays[],
  name: keyof DeployOverlays,
): readonly (Json | undefined)[] {
  return overlays.map((overlay) => overlay[name]);
}
