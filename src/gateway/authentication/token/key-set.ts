// Public keys of an issuer (RFC 7517): which of them verify signatures, and with which algorithms. The key decides, never the token.
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import { type Algorithm, algorithms, isAlgorithm } from './algorithms.ts';
import { hasSmallOrder } from './small-order.ts';

export interface VerificationKey {
  readonly id: string | undefined;
  readonly algorithms: ReadonlySet<Algorithm>;
  readonly key: KeyObject;
  /** In bytes, where it depends on the key: RSA. */
  readonly signatureLength?: number | undefined;
}

/** A key that was left out, and why. */
export interface IgnoredKey {
  readonly index: number;
  readonly id: string | undefined;
  /** Completes "this key ...". Never quotes key material. */
  readonly why: string;
}

export interface KeySet {
  /** At least one. */
  readonly keys: readonly VerificationKey[];
  readonly ignored: readonly IgnoredKey[];
  /** The same for the same usable keys, whatever else changed in the document. */
  readonly fingerprint: string;
}

export type ReadKeySetResult =
  | { readonly ok: true; readonly keySet: KeySet }
  /** `problem` completes "the key set ...". */
  | { readonly ok: false; readonly problem: string; readonly ignored: readonly IgnoredKey[] };

const maxKeys = 256;
const minRsaBits = 2_048;
/** Limited because verification time grows with the square of the length. */
const maxRsaBits = 16_384;
/** Of a modulus of that many bits, in base64url. */
const maxModulusLength = Math.ceil(maxRsaBits / 6);
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** Reads a JWK set. Unusable keys are ignored; a set without a usable key is refused. */
export function readKeySet(document: JsonObject): ReadKeySetResult {
  const list = document.keys;
  if (!Array.isArray(list)) return { ok: false, problem: 'has no list of keys', ignored: [] };
  if (list.length === 0) return { ok: false, problem: 'is empty', ignored: [] };
  const keys: VerificationKey[] = [];
  const ignored: IgnoredKey[] = [];
  for (const [index, entry] of (list as readonly unknown[]).entries()) {
    const read = index < maxKeys ? readKey(entry) : `is beyond the first ${maxKeys}`;
    if (typeof read !== 'string') keys.push(read);
    else if (index <= maxKeys) ignored.push({ index, id: readId(entry), why: read });
  }
  if (keys.length === 0) return { ok: false, problem: 'has no key that verifies signatures', ignored };
  return { ok: true, keySet: { keys, ignored, fingerprint: fingerprintKeys(keys) } };
}

function readKey(entry: unknown): VerificationKey | string {
  if (!isJsonObject(entry)) return 'is not a JSON object';
  const { kty, use, key_ops: operations, alg, kid } = entry;
  if (kid !== undefined && typeof kid !== 'string') return 'has a kid that is not a string';
  if (kty === 'oct') return 'is symmetric: everyone who can verify with it can also sign';
  if (privateMembers.some((member) => Object.hasOwn(entry, member))) {
    return 'has private key material in it: everyone who reads this set can sign with it';
  }
  if (use !== undefined && use !== 'sig') return 'is not for signatures (use)';
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return 'is not for verifying (key_ops)';
  }
  if (alg !== undefined && !isAlgorithm(alg)) return 'is for an algorithm that is not accepted (alg)';
  const material = importKey(entry);
  if (typeof material === 'string') return material;
  const served = alg === undefined ? material.algorithms : material.algorithms.filter((name) => name === alg);
  if (served.length === 0) return 'has an alg that does not fit its type or curve';
  return { id: kid, algorithms: new Set(served), key: material.key, signatureLength: material.signatureLength };
}

interface Material {
  readonly key: KeyObject;
  readonly algorithms: readonly Algorithm[];
  readonly signatureLength?: number;
}

function importKey(jwk: JsonObject): Material | string {
  switch (jwk.kty) {
    case 'RSA': {
      // Before its details are asked for: of a longer one, OpenSSL leaves an error behind, which the private key that is read next in this process gets.
      if (typeof jwk.n === 'string' && jwk.n.length > maxModulusLength)
        return `is too long: more than ${maxRsaBits} bits`;
      const key = importPublicKey({ kty: 'RSA', n: jwk.n, e: jwk.e });
      const { modulusLength = 0, publicExponent = 0n } = key?.asymmetricKeyDetails ?? {};
      if (key === undefined) return 'cannot be read';
      if (modulusLength < minRsaBits) return `is too short: ${modulusLength} bits, at least ${minRsaBits} are needed`;
      if (publicExponent < 3n || publicExponent % 2n === 0n) return 'has an unsafe public exponent';
      // RFC 8017 8.1.2 and 8.2.2: as long as the modulus.
      return { key, algorithms: findAlgorithms('rsa'), signatureLength: Math.ceil(modulusLength / 8) };
    }
    case 'EC': {
      const served = typeof jwk.crv === 'string' ? findAlgorithms(jwk.crv) : [];
      if (served.length === 0 || !String(jwk.crv).startsWith('P-')) return 'is on a curve that is not accepted';
      const key = importPublicKey({ kty: 'EC', crv: jwk.crv, x: jwk.x, y: jwk.y });
      return key === undefined ? 'cannot be read' : { key, algorithms: served };
    }
    case 'OKP': {
      if (jwk.crv !== 'Ed25519' && jwk.crv !== 'Ed448') return 'is on a curve that is not accepted';
      const key = importPublicKey({ kty: 'OKP', crv: jwk.crv, x: jwk.x });
      if (key === undefined) return 'cannot be read';
      if (hasSmallOrder(key)) return 'is a point of small order';
      return { key, algorithms: ['EdDSA', jwk.crv] };
    }
    default:
      return 'is of a type that is not accepted (kty)';
  }
}

/** Imports only the members that define the key, so that other members of the entry have no effect. */
function importPublicKey(jwk: JsonObject): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function findAlgorithms(keyType: string): readonly Algorithm[] {
  return (Object.keys(algorithms) as Algorithm[]).filter((name) => algorithms[name].keyType === keyType);
}

function readId(entry: unknown): string | undefined {
  return isJsonObject(entry) && typeof entry.kid === 'string' ? entry.kid.slice(0, 200) : undefined;
}

function fingerprintKeys(keys: readonly VerificationKey[]): string {
  const lines = keys.map(({ id, algorithms: served, key }) =>
    JSON.stringify([id ?? null, [...served], key.export({ type: 'spki', format: 'der' }).toString('base64')]),
  );
  return createHash('sha256').update(lines.toSorted().join('\n')).digest('base64url');
}
