// The text of a JWK set (RFC 7517) as people write it into a policy or a file: its shape, and no private or symmetric keys.

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']; // RFC 7518 section 6

/**
 * What is wrong with a key set, worded to follow its name; undefined: nothing. The gateway decides which public keys are usable.
 */
export function findKeySetProblem(text: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return 'is not valid JSON';
  }
  const keys: unknown = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : [];
  if (!Array.isArray(keys) || keys.length === 0)
    return 'is not a key set; use a JSON object with a non-empty list `keys`';
  for (const [index, key] of (keys as readonly unknown[]).entries()) {
    const problem = findSecretProblem(key);
    if (problem !== undefined) return `keys[${index}] ${problem}`;
  }
  return undefined;
}

// Every reader of the key set could sign tokens with such a key.
function findSecretProblem(key: unknown): string | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  if (('kty' in key && key.kty === 'oct') || 'k' in key) return 'is a symmetric key; use a public key';
  const present = privateMembers.filter((member) => Object.hasOwn(key, member));
  return present.length === 0 ? undefined : `is a private key; paste the public one (without ${present.join(', ')})`;
}
