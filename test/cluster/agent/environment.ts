// The environment of a container: values, fields of the pod, Secrets and ConfigMaps, and references between variables.
import type { Container, EnvVar, KeyRef, Pod } from './pod.ts';

/** Where variables come from. */
export interface EnvironmentSources {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  /** The content of a Secret or ConfigMap of the pod's namespace; undefined when there is none. */
  readonly readSecret: (name: string) => Promise<ReadonlyMap<string, Buffer> | undefined>;
  readonly readConfigMap: (name: string) => Promise<ReadonlyMap<string, Buffer> | undefined>;
}

/** Thrown when a container cannot be configured now; it may be later. */
export class ContainerConfigError extends Error {
  readonly code = 'CONTAINER_CONFIG';
}

/** The image is not there. */
export class ImagePullError extends Error {
  readonly code = 'IMAGE_PULL';
}

/** All variables of a container. `base` are those of the image and of the node. */
export async function resolveEnvironment(
  container: Container,
  sources: EnvironmentSources,
  base: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const result: Record<string, string> = { ...base };
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    const isSecret = secretRef !== undefined;
    const { name, optional = false } = secretRef ?? configMapRef ?? { name: '' };
    const content = await (isSecret ? sources.readSecret(name) : sources.readConfigMap(name));
    if (content === undefined && !optional) throw new ContainerConfigError(`${kindOf(isSecret)} ${name} not found`);
    for (const [key, value] of content ?? []) result[prefix + key] = value.toString();
  }
  for (const variable of container.env ?? []) {
    const value = await readVariable(variable, sources, result);
    if (value !== undefined) result[variable.name] = value;
  }
  return result;
}

/** Replaces `$(NAME)`; `$$(NAME)` stays as `$(NAME)`, and what is not defined stays as it is. */
export function expandReferences(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^()]*)\)/g, (match, name: string | undefined) => {
    if (match === '$$') return '$';
    return name === undefined ? match : (variables[name] ?? match);
  });
}

/** A field of the pod, as the downward API names it. */
export function readField(
  fieldPath: string,
  sources: Omit<EnvironmentSources, 'readSecret' | 'readConfigMap'>,
): string {
  const { metadata, spec } = sources.pod;
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath);
  if (keyed !== null) return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    case 'spec.nodeName':
      return sources.nodeName;
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? 'default';
    case 'status.podIP':
    case 'status.podIPs':
      return sources.podAddress;
    case 'status.hostIP':
    case 'status.hostIPs':
      return sources.nodeAddress;
    default:
      throw new ContainerConfigError(`the test cluster does not know the field ${fieldPath}`);
  }
}

async function readVariable(
  { value, valueFrom }: EnvVar,
  sources: EnvironmentSources,
  known: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (valueFrom?.fieldRef !== undefined) return readField(valueFrom.fieldRef.fieldPath, sources);
  if (valueFrom?.secretKeyRef !== undefined) return readKey(valueFrom.secretKeyRef, true, sources);
  if (valueFrom?.configMapKeyRef !== undefined) return readKey(valueFrom.configMapKeyRef, false, sources);
  return expandReferences(value ?? '', known);
}

async function readKey(
  { name, key, optional = false }: KeyRef,
  isSecret: boolean,
  sources: EnvironmentSources,
): Promise<string | undefined> {
  const content = await (isSecret ? sources.readSecret(name) : sources.readConfigMap(name));
  const value = content?.get(key)?.toString();
  if (value !== undefined || optional) return value;
  if (content === undefined) throw new ContainerConfigError(`${kindOf(isSecret)} ${name} not found`);
  throw new ContainerConfigError(`${kindOf(isSecret)} ${name} has no key ${key}`);
}

function kindOf(isSecret: boolean): string {
  return isSecret ? 'secret' : 'configmap';
}

function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}
