// Whose keys a Secret of the controller has: keys belong to one Gateway object, by its uid.
import type { KubernetesObject } from '../kubernetes/client.ts';

const gatewayAnnotation = 'gateway.proxy/gateway';
const gatewayUidAnnotation = 'gateway.proxy/gateway-uid';

/** The Gateway whose keys they are. */
export interface KeyOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The annotations of a Secret that say so. */
export function annotateOwner({ namespace, name, uid }: KeyOwner): Readonly<Record<string, string>> {
  return { [gatewayAnnotation]: `${namespace}/${name}`, [gatewayUidAnnotation]: uid };
}

/** The Gateway that the keys of a Secret belong to, from its annotations; undefined: the Secret is not ours. */
export function readOwner(
  { metadata }: KubernetesObject,
  nameSecret: (namespace: string, name: string) => string,
): KeyOwner | undefined {
  const [namespace, name, ...rest] = metadata.annotations?.[gatewayAnnotation]?.split('/') ?? [];
  const uid = metadata.annotations?.[gatewayUidAnnotation];
  if (namespace === undefined || name === undefined || rest.length > 0 || uid === undefined) return undefined;
  return metadata.name === nameSecret(namespace, name) ? { namespace, name, uid } : undefined;
}
