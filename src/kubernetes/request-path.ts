// Paths of the Kubernetes API: /api/v1/namespaces/NS/PLURAL/NAME, /apis/GROUP/VERSION/..., and how people read them.
import { ApiError, type ObjectName, type Scope } from './client.ts';
import type { ResourceType } from './resource-type.ts';

/** The path of a collection; of one namespace, or of all of them. */
export function formatCollectionPath(type: ResourceType, namespace: string | undefined): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  if (!type.namespaced || namespace === undefined) return `${root}/${type.plural}`;
  return `${root}/namespaces/${encodeSegment(type, namespace)}/${type.plural}`;
}

/** The path of an object or of a subresource of it. */
export function formatObjectPath(type: ResourceType, { namespace, name }: ObjectName, subresource?: string): string {
  const place = type.namespaced ? (namespace ?? '') : undefined;
  const path = `${formatCollectionPath(type, place)}/${encodeSegment(type, name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `httproutes.gateway.networking.k8s.io`, as in the messages of the API server. */
function formatResource({ group, plural }: ResourceType): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** `gateways.gateway.networking.k8s.io default/web` */
export function describeObject(type: ResourceType, { namespace, name }: ObjectName): string {
  return `${formatResource(type)} ${type.namespaced ? `${namespace ?? ''}/` : ''}${name}`;
}

/** `secrets in default` */
export function describeCollection(type: ResourceType, { namespace }: Scope): string {
  return namespace === undefined ? formatResource(type) : `${formatResource(type)} in ${namespace}`;
}

/** An empty name or one with `/` or `..` would address another object or a whole collection. The API server allows none of these either. */
function encodeSegment(type: ResourceType, name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    const message = `${formatResource(type)}: ${JSON.stringify(name)} is not a valid name of an object or namespace`;
    throw new ApiError(message, { code: 400, reason: 'BadRequest', message, retryAfterSeconds: undefined });
  }
  return encodeURIComponent(name);
}
