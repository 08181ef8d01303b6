// Which Secrets and ConfigMaps the resources refer to: only those are read from a cluster, one by one, so that explaining a request needs no right to list all Secrets.
import { isJsonObject } from '../../base/json-object.ts';
import { pickerAnnotations } from '../../api/inference-pool.ts';
import type { Resources } from '../../api/resources.ts';

/** A Secret or ConfigMap that something refers to. */
export interface ReferencedObject {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
  /** Entries that references name. */
  readonly entries: readonly string[];
}

/** Finds them, each once. A reference that turns out to be none only costs a question. */
export function listReferencedObjects({
  gateways,
  proxyBackends,
  proxyPolicies,
  inferencePools,
}: Resources): ReferencedObject[] {
  const found = new Map<
    string,
    { kind: 'Secret' | 'ConfigMap'; namespace: string; name: string; entries: Set<string> }
  >();
  for (const { metadata, spec } of [...gateways, ...proxyBackends, ...proxyPolicies])
    visitReferences(spec, (reference) => {
      const { kind = 'Secret', group = '', name, key, namespace = metadata.namespace } = reference;
      if (group !== '' || typeof name !== 'string' || typeof namespace !== 'string') return;
      if (kind !== 'Secret' && kind !== 'ConfigMap') return;
      const id = `${kind}/${namespace}/${name}`;
      const before = found.get(id) ?? { kind, namespace, name, entries: new Set() };
      if (typeof key === 'string') before.entries.add(key);
      found.set(id, before);
    });
  for (const { metadata } of inferencePools) {
    const { namespace, annotations } = metadata;
    const name = annotations[pickerAnnotations.ca];
    if (name !== undefined)
      found.set(`ConfigMap/${namespace}/${name}`, { kind: 'ConfigMap', namespace, name, entries: new Set() });
  }
  return [...found.values()].map(({ entries, ...object }) => ({ ...object, entries: [...entries] }));
}

/** Members that end in Ref or Refs. Parsed resources have their defaults, so a reference to another kind names it. */
function visitReferences(value: unknown, visit: (reference: Readonly<Record<string, unknown>>) => void): void {
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) visitReferences(item, visit);
  if (!isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (/Refs?$/.test(key))
      for (const reference of Array.isArray(member) ? (member as readonly unknown[]) : [member])
        if (isJsonObject(reference)) visit(reference);
    visitReferences(member, visit);
  }
}
