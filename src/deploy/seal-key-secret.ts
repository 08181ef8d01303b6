// The Secret with the seal keys of one Gateway (src/base/sealed.ts). It is in the installation namespace: gateways and teams cannot read it there, and the
// controller needs no right to write Secrets elsewhere. Gateways get the keys over xDS.
import { type Secret, readSecretEntry } from '../api/secret.ts';
import { createSealKey } from '../base/sealed.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { managedBy, managedByLabel, nameSealKeySecret } from './deployed-names.ts';
import { annotateOwner, type KeyOwner, readOwner } from './key-owner.ts';

/** The label of Secrets with seal keys. */
export const sealKeysLabel = 'gateway.proxy/seal-keys';

/** Entries of the Secret: the first existing one seals, all of them open. To rotate, move `current` to `previous` and set a new `current`. */
const entries = ['current', 'previous'] as const;
const keyBytes = 32;

/** A Secret with a new key. */
export function renderSealKeySecret(owner: KeyOwner, installationNamespace: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: nameSealKeySecret(owner.namespace, owner.name),
      namespace: installationNamespace,
      labels: { [sealKeysLabel]: 'true', [managedByLabel]: managedBy },
      annotations: annotateOwner(owner),
    },
    type: 'Opaque',
    data: { current: Buffer.from(createSealKey()).toString('base64') },
  };
}

/** The Gateway that the keys of a Secret belong to, from its annotations; undefined: the Secret is not ours. */
export function readSealKeyOwner(secret: KubernetesObject): KeyOwner | undefined {
  return readOwner(secret, nameSealKeySecret);
}

/** The keys in a Secret. */
type SealKeysOfSecret =
  | { readonly ok: true; readonly keys: readonly Uint8Array[] }
  /** For the operator; contains nothing of the keys. */
  | { readonly ok: false; readonly problem: string };

/** Reads the keys. If one entry is invalid, none is used. */
export function readSealKeys(secret: Secret): SealKeysOfSecret {
  const { namespace, name } = secret.metadata;
  const refuse = (what: string): SealKeysOfSecret => ({ ok: false, problem: `Secret ${namespace}/${name} ${what}` });
  const keys: Uint8Array[] = [];
  for (const entry of entries) {
    const key = readSecretEntry(secret, entry);
    if (key === undefined) continue;
    if (key.length !== keyBytes) return refuse(`has ${key.length} bytes under ${entry}; a seal key has ${keyBytes}`);
    keys.push(key);
  }
  if (keys.length === 0) return refuse(`has no key under ${entries[0]}`);
  return { ok: true, keys };
}
