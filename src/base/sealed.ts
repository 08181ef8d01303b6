// Values that travel through a client and come back: sealed with AES-256-GCM, so that the client can neither read nor change them, and nothing has to be
// stored. The first key seals, every key opens, so that keys rotate without logging anyone out.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { getZlib } from './node-parts.ts';

/** Why a sealed value cannot be used. Never shown to clients in this detail. */
export type SealProblem = 'malformed' | 'unknown_key' | 'tampered' | 'expired' | 'other_purpose';

type OpenResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: SealProblem };

interface SealOptions {
  readonly expiresAtMs?: number;
  /**
   * Deflate what is large. The length of the sealed text then tells about its content: never for a value that holds a secret
   * beside text that somebody else chose.
   */
  readonly compress?: boolean;
  /** Where the value belongs, such as its key in a store: opened with another context, or without one, it counts as tampered with. */
  readonly context?: string;
}

export interface Sealer {
  /** `purpose` separates kinds of values: one sealed as a client id can never be opened as a state. */
  seal(purpose: string, value: unknown, options?: SealOptions): string;
  open<T>(purpose: string, text: string, context?: string): OpenResult<T>;
  /**
   * Seals so that equal values in the same context have equal texts, for values that have to be found again: one text for each key, that of the key that seals
   * first. They are opened like any other. Whoever sees them learns which of them are equal, and nothing else.
   */
  sealRepeatably(purpose: string, value: unknown, context: string): readonly string[];
}

/** The keys cannot be used for sealing. Never says what they are. */
export class SealKeyError extends Error {
  readonly code = 'seal_key_invalid';

  constructor(message: string) {
    super(message);
    this.name = 'SealKeyError';
  }
}

const keyLength = 32;
const version = 1;
// version (1), key id (4), purpose id (2), nonce (12); then ciphertext and tag (16).
const headLength = 19;
const nonceAt = 7;
const nonceLength = 12;
const tagLength = 16;
// Inside: flags (1), expiry in ms or 0 (6), JSON.
const innerHeadLength = 7;
const flagDeflated = 1;
const compressFrom = 128;
/** Longer texts are not opened. */
export const maxSealedLength = 131_072;

interface SealKey {
  readonly id: Buffer;
  /** One key per purpose, derived: a flood of one kind of value does not wear out the key of another. */
  deriveFor(purpose: string): Buffer;
}

/** Makes a key: 32 random bytes. */
export function createSealKey(): Uint8Array {
  return randomBytes(keyLength);
}

/** Seals with the first key and opens with every one. Throws a SealKeyError when a key is not 32 bytes long, or when there is none. */
export function createSealer(keys: readonly Uint8Array[], now: () => number = Date.now): Sealer {
  const [first, ...others] = keys.map(prepareKey);
  if (first === undefined) throw new SealKeyError('sealing needs a key');
  const all = [first, ...others];
  return {
    seal(purpose, value, options = {}) {
      return encrypt(first, purpose, randomBytes(nonceLength), encodeInner(value, options), options.context);
    },
    sealRepeatably(purpose, value, context) {
      const inner = encodeInner(value, {});
      return all.map((key) => encrypt(key, purpose, deriveNonce(key, purpose, inner, context), inner, context));
    },
    open(purpose, text, context) {
      const sealed = decodeSealed(text);
      if (sealed === undefined) return { ok: false, problem: 'malformed' };
      const candidates = all.filter(({ id }) => id.equals(sealed.subarray(1, 5)));
      if (candidates.length === 0) return { ok: false, problem: 'unknown_key' };
      if (!identifyPurpose(purpose).equals(sealed.subarray(5, nonceAt))) return { ok: false, problem: 'other_purpose' };
      for (const key of candidates) {
        const inner = decrypt(key.deriveFor(purpose), sealed, purpose, context);
        if (inner !== undefined) return decodeInner(inner, now());
      }
      return { ok: false, problem: 'tampered' };
    },
  };
}

function prepareKey(key: Uint8Array): SealKey {
  if (key.length !== keyLength) throw new SealKeyError(`a key for sealing has ${keyLength} bytes, not ${key.length}`);
  const bytes = Buffer.from(key);
  const derived = new Map<string, Buffer>();
  return {
    id: createHash('sha256').update('mcp-gateway seal key id\0').update(bytes).digest().subarray(0, 4),
    deriveFor(purpose) {
      const known = derived.get(purpose);
      if (known !== undefined) return known;
      const fresh = Buffer.from(hkdfSync('sha256', bytes, '', `mcp-gateway seal\0${purpose}`, keyLength));
      // Purposes are words of this program, but nothing here relies on that.
      if (derived.size < 64) derived.set(purpose, fresh);
      return fresh;
    },
  };
}

/** Only to tell a mistake from an attack; what protects is the derived key and the additional data. */
function identifyPurpose(purpose: string): Buffer {
  return createHash('sha256').update(purpose).digest().subarray(0, 2);
}

/** The additional data. The key is that of the purpose, so that nothing of the purpose can be taken for a part of the context. */
function bind(head: Buffer, purpose: string, context: string | undefined): Buffer {
  const bound = context === undefined ? purpose : `${purpose}\0${context}`;
  return Buffer.concat([head.subarray(0, nonceAt), Buffer.from(bound)]);
}

function encrypt(key: SealKey, purpose: string, nonce: Buffer, inner: Buffer, context: string | undefined): string {
  const head = Buffer.concat([Buffer.of(version), key.id, identifyPurpose(purpose), nonce]);
  const cipher = createCipheriv('aes-256-gcm', key.deriveFor(purpose), nonce);
  cipher.setAAD(bind(head, purpose, context));
  return Buffer.concat([head, cipher.update(inner), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** A nonce that depends on everything that is sealed: it repeats only with the same text (the idea of SIV, RFC 5297). */
function deriveNonce(key: SealKey, purpose: string, inner: Buffer, context: string): Buffer {
  const mac = createHmac('sha256', key.deriveFor(`${purpose}\0nonce`));
  return mac.update(JSON.stringify(context)).update(inner).digest().subarray(0, nonceLength);
}

function encodeInner(value: unknown, options: SealOptions): Buffer {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError('only JSON values can be sealed');
  const json = Buffer.from(text);
  const deflated =
    options.compress === true && json.length >= compressFrom ? getZlib().deflateRawSync(json, { level: 9 }) : undefined;
  const isDeflated = deflated !== undefined && deflated.length < json.length;
  const head = Buffer.alloc(innerHeadLength);
  head.writeUInt8(isDeflated ? flagDeflated : 0, 0);
  head.writeUIntBE(encodeExpiry(options.expiresAtMs), 1, 6);
  return Buffer.concat([head, isDeflated ? deflated : json]);
}

/** 0 stands for never. A time that already lies before 1970 is still an expiry. */
function encodeExpiry(expiresAtMs: number | undefined): number {
  if (expiresAtMs === undefined) return 0;
  if (!Number.isFinite(expiresAtMs)) throw new TypeError('the expiry is not a time');
  return Math.min(Math.max(Math.floor(expiresAtMs), 1), 2 ** 48 - 1);
}

/** Strict: a value has exactly one text, so that a changed text is never the same value. */
function decodeSealed(text: string): Buffer | undefined {
  if (text.length > maxSealedLength) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length < headLength + innerHeadLength + tagLength || bytes[0] !== version) return undefined;
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decrypt(key: Buffer, sealed: Buffer, purpose: string, context: string | undefined): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, headLength), {
    authTagLength: tagLength,
  });
  decipher.setAAD(bind(sealed, purpose, context));
  decipher.setAuthTag(sealed.subarray(-tagLength));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(headLength, -tagLength)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Of content that is authentic: made by seal, with one of our keys. */
function decodeInner<T>(inner: Buffer, nowMs: number): OpenResult<T> {
  const expiresAtMs = inner.readUIntBE(1, 6);
  if (expiresAtMs !== 0 && nowMs >= expiresAtMs) return { ok: false, problem: 'expired' };
  const body = inner.subarray(innerHeadLength);
  const json =
    inner[0] === flagDeflated ? getZlib().inflateRawSync(body, { maxOutputLength: 16 * maxSealedLength }) : body;
  return { ok: true, value: JSON.parse(json.toString('utf8')) as T };
}
