// Trims objects of the cluster to what validation and translation read. The rest would only cost memory and cause false changes.
import { caCertificateEntry } from '../../api/certificate-reference.ts';
import { gatewayNameLabel } from '../../api/gateway.ts';
import type { Kind } from '../../api/kinds.ts';
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import type { KubernetesObject } from '../../kubernetes/client.ts';

/** kubectl's copy of the whole object. */
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Kinds whose annotations and owners are not read. Others write them again and again, such as the time of the last change of an EndpointSlice. */
const lean: ReadonlySet<Kind> = new Set(['EndpointSlice', 'ConfigMap', 'Namespace']);

/** The object without what changes by itself (resourceVersion, status, finalizers...) and without what no reference can mean. */
export function trimObject(kind: Kind, object: KubernetesObject): JsonObject {
  if (kind === 'Pod') return trimPod(object);
  const { status: _status, apiVersion, kind: ownKind, metadata, ...rest } = object;
  // In this order: lists and watches spell the same object in different ones.
  const content = { apiVersion, kind: ownKind, metadata: trimMetadata(kind, metadata), ...rest };
  switch (kind) {
    case 'ConfigMap':
      return trimConfigMap(content);
    case 'EndpointSlice':
      return trimEndpointSlice(content);
    default:
      return content;
  }
}

function trimMetadata(kind: Kind, metadata: KubernetesObject['metadata']): JsonObject {
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp, labels } = metadata;
  const kept: Record<string, unknown> = { name };
  if (namespace !== undefined) kept['namespace'] = namespace;
  if (uid !== undefined) kept['uid'] = uid;
  if (generation !== undefined) kept['generation'] = generation;
  if (typeof creationTimestamp === 'string') kept['creationTimestamp'] = creationTimestamp;
  if (deletionTimestamp !== undefined) kept['deletionTimestamp'] = deletionTimestamp;
  if (labels !== undefined) kept['labels'] = labels;
  if (lean.has(kind)) return kept;
  const { annotations, ownerReferences } = metadata;
  if (isJsonObject(annotations)) {
    const { [lastAppliedAnnotation]: _copy, ...others } = annotations;
    if (Object.keys(others).length > 0) kept['annotations'] = others;
  }
  if (ownerReferences !== undefined) kept['ownerReferences'] = ownerReferences;
  return kept;
}

/** Only certificate authorities are read from ConfigMaps. */
function trimConfigMap({ data, binaryData, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...pickAuthority('data', data), ...pickAuthority('binaryData', binaryData) };
}

function pickAuthority(field: string, entries: unknown): JsonObject {
  if (!isJsonObject(entries) || !Object.hasOwn(entries, caCertificateEntry)) return {};
  return { [field]: { [caCertificateEntry]: entries[caCertificateEntry] } };
}

/**
 * Go writes an empty list as null. Which node an endpoint is on does not matter. Its pod matters only behind the Service of a Gateway, whose labels
 * Kubernetes copies to the EndpointSlices: those pods are compared with the gateways that are connected.
 */
function trimEndpointSlice({ endpoints, ports, ...rest }: JsonObject): JsonObject {
  const { metadata } = rest;
  const labels = isJsonObject(metadata) ? metadata['labels'] : undefined;
  const keepsPods = isJsonObject(labels) && Object.hasOwn(labels, gatewayNameLabel);
  return {
    ...rest,
    ...(Array.isArray(endpoints) && {
      endpoints: endpoints.map((endpoint: unknown) => trimEndpoint(endpoint, keepsPods)),
    }),
    ...(Array.isArray(ports) && { ports }),
  };
}

function trimEndpoint(endpoint: unknown, keepsPod: boolean): unknown {
  if (!isJsonObject(endpoint)) return endpoint;
  const { addresses, conditions, targetRef } = endpoint;
  const pod = keepsPod && isJsonObject(targetRef) ? { kind: targetRef['kind'], name: targetRef['name'] } : undefined;
  return {
    addresses,
    ...(conditions !== undefined && { conditions }),
    ...(pod !== undefined && { targetRef: pod }),
  };
}

/**
 * There are many Pods, and their nodes write them again and again. Of all that, what says whether one is an endpoint: labels, address, and whether it is
 * ready and stays. When and why conditions changed does not matter.
 */
function trimPod({ apiVersion, kind, metadata, status }: KubernetesObject): JsonObject {
  const { name, namespace, labels, deletionTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(labels !== undefined && { labels }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    ...(isJsonObject(status) && { status: trimPodStatus(status) }),
  };
}

function trimPodStatus({ phase, podIP, podIPs, conditions }: JsonObject): JsonObject {
  // One address is enough, and it is the first.
  const address = podIP !== undefined ? { podIP } : podIPs !== undefined ? { podIPs } : {};
  const ready = Array.isArray(conditions) ? conditions.filter(isReadiness) : [];
  return {
    ...(phase !== undefined && { phase }),
    ...address,
    ...(ready.length > 0 && { conditions: ready.map(({ type, status }) => ({ type, status })) }),
  };
}

function isReadiness(condition: unknown): condition is JsonObject {
  return isJsonObject(condition) && condition['type'] === 'Ready';
}
