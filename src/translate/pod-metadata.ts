// Which labels and annotations the author of a Gateway may set on pods and on their ServiceAccount. Admission webhooks, cloud providers and network plugins
// read those with a domain: some bring a container, a Secret or a cloud role into the pod.
import type { Delegation } from '../api/delegation.ts';

/** Domains whose keys only describe. */
const plainDomains: readonly string[] = ['prometheus.io/', 'app.kubernetes.io/'];

/** Whether pods may have the label or annotation. `delegation` is that of the class. */
export function allowsPodMetadata(key: string, delegation: Delegation | undefined): boolean {
  if (!key.includes('/') || delegation?.pods === true) return true;
  return [...plainDomains, ...(delegation?.podMetadata ?? [])].some((allowed) =>
    allowed.endsWith('/') ? key.startsWith(allowed) : key === allowed,
  );
}

/** The labels or annotations that pods may have; undefined: there are none at all. */
export function choosePodMetadata<T>(
  metadata: Readonly<Record<string, T>> | undefined,
  delegation: Delegation | undefined,
): Readonly<Record<string, T>> | undefined {
  if (metadata === undefined) return undefined;
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => allowsPodMetadata(key, delegation)));
}
