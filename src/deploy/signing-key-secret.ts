// The Secret with the signing keys of one Gateway. Like that of its seal keys it is in the installation namespace, and gateways get the keys over xDS.
//   current         PEM (PKCS #8) of the key that signs
//   current-since   when it began to
//   next            a key that is published, and signs when all gateways have it
//   previous        the key before, published until its tokens have expired
//   previous-until  when that is
// Times are in the data as well, so that a backup of the data has them.
import { type Secret, readSecretEntry } from '../api/secret.ts';
import { formatSigningKey, parseSigningKey, type SigningKeyMaterial } from '../base/signing-key.ts';
import type { KubernetesObject } from '../kubernetes/client.ts';
import { managedBy, managedByLabel, nameSigningKeySecret } from './deployed-names.ts';
import { annotateOwner, type KeyOwner, readOwner } from './key-owner.ts';
import { type KeptSigningKeys, makeFirstKeys } from './plan-signing-keys.ts';

/** The label of Secrets with signing keys. */
export const signingKeysLabel = 'gateway.proxy/signing-keys';
/** Whatever its value: somebody asks for a new key. The controller removes it when there is one. */
const rotateAnnotation = 'gateway.proxy/rotate-signing-key';

/** A Secret with a new key. */
export function renderSigningKeySecret(owner: KeyOwner, installationNamespace: string, now: number): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: nameSigningKeySecret(owner.namespace, owner.name),
      namespace: installationNamespace,
      labels: { [signingKeysLabel]: 'true', [managedByLabel]: managedBy },
      annotations: annotateOwner(owner),
    },
    type: 'Opaque',
    data: encodeKeys(makeFirstKeys(now)),
  };
}

/** The Secret with other keys, in place of the one that was seen. `isAnswered`: nobody asks for a new key any more. */
export function replaceSigningKeys(
  seen: KubernetesObject,
  keys: KeptSigningKeys,
  { isAnswered }: { readonly isAnswered: boolean },
): KubernetesObject {
  const { [rotateAnnotation]: request, ...annotations } = seen.metadata.annotations ?? {};
  const kept = isAnswered || request === undefined ? annotations : { ...annotations, [rotateAnnotation]: request };
  const { managedFields: _, ...metadata } = seen.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, annotations: kept },
    type: 'Opaque',
    data: encodeKeys(keys),
  };
}

/** Whether somebody asks for a new key. */
export function isRotationRequested({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[rotateAnnotation] !== undefined;
}

/** The Gateway that the keys of a Secret belong to, from its annotations; undefined: the Secret is not ours. */
export function readSigningKeyOwner(secret: KubernetesObject): KeyOwner | undefined {
  return readOwner(secret, nameSigningKeySecret);
}

/** The keys in a Secret. */
type SigningKeysOfSecret =
  | { readonly ok: true; readonly keys: KeptSigningKeys }
  /** For the operator; contains nothing of the keys. */
  | { readonly ok: false; readonly problem: string };

/** Reads the keys. If one entry is invalid, none is used. */
export function readSigningKeySecret(secret: Secret): SigningKeysOfSecret {
  return readKeys(secret.metadata, (entry) => {
    const bytes = readSecretEntry(secret, entry);
    return bytes && Buffer.from(bytes).toString('utf8');
  });
}

/** The same of an object as the API server has it. */
export function readSigningKeyObject(secret: KubernetesObject): SigningKeysOfSecret {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  return readKeys(secret.metadata, (entry) =>
    Object.hasOwn(data, entry) ? Buffer.from(data[entry]!, 'base64').toString('utf8') : undefined,
  );
}

function readKeys(
  { namespace, name }: { readonly namespace?: string; readonly name: string },
  readEntry: (entry: string) => string | undefined,
): SigningKeysOfSecret {
  const refuse = (what: string): SigningKeysOfSecret => ({
    ok: false,
    problem: `Secret ${namespace}/${name} ${what}. Correct it, or delete it to have a new key made`,
  });
  const keys: Partial<Record<(typeof keyEntries)[number], SigningKeyMaterial>> = {};
  for (const entry of keyEntries) {
    const text = readEntry(entry);
    if (text === undefined) continue;
    const key = parseSigningKey(text);
    if (key === undefined) return refuse(`has no key for ES256 under ${entry} (PEM of a key on the curve P-256)`);
    if (Object.values(keys).some(({ kid }) => kid === key.kid)) return refuse(`has the same key twice: ${entry}`);
    keys[entry] = key;
  }
  if (keys.current === undefined) return refuse('has no key under current');
  const currentSince = readTime(readEntry('current-since'));
  const previousUntil = readTime(readEntry('previous-until'));
  return {
    ok: true,
    keys: { current: keys.current, currentSince, next: keys.next, previous: keys.previous, previousUntil },
  };
}

const keyEntries = ['current', 'next', 'previous'] as const;

/** A time that cannot be read is none: it is written anew. */
function readTime(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}

function encodeKeys({
  current,
  currentSince,
  next,
  previous,
  previousUntil,
}: KeptSigningKeys): Readonly<Record<string, string>> {
  const entries: Readonly<Record<string, string | undefined>> = {
    current: formatSigningKey(current),
    'current-since': formatTime(currentSince),
    next: next && formatSigningKey(next),
    previous: previous && formatSigningKey(previous),
    'previous-until': formatTime(previousUntil),
  };
  return Object.fromEntries(
    Object.entries(entries).flatMap(([entry, text]) =>
      text === undefined ? [] : [[entry, Buffer.from(text).toString('base64')]],
    ),
  );
}

function formatTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
