// Secrets and ConfigMaps that may not be read are taken as good: what is in them decides nothing about a request that is only explained.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import type { ReferencedObject } from './referenced-entries.ts';
import { getStandInCertificate } from './stand-in-certificate.ts';

/** The text of a credential that is not known. */
export const standInText = 'stand-in';

/** An object that has everything for which it may be referred to. */
export function createStandIn({ kind, namespace, name, entries }: ReferencedObject): KubernetesObject {
  const { certificate, key } = getStandInCertificate();
  const content: Record<string, string> = { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': certificate };
  for (const entry of entries) content[entry] ??= standInText;
  const head = { apiVersion: 'v1', kind, metadata: { namespace, name } };
  return kind === 'Secret' ? { ...head, stringData: content } : { ...head, data: { 'ca.crt': certificate } };
}
