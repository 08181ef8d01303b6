// Points of small order on Edwards curves, which are not safe keys (RFC 8032 section 5, RFC 7748 section 6): one signature is valid for every message.
import type { KeyObject } from 'node:crypto';

/** The y coordinates of all points whose order divides the cofactor, in every spelling that decoders take, in hex. */
export const smallOrderPoints: Readonly<Record<'ed25519' | 'ed448', ReadonlySet<string>>> = {
  ed25519: new Set([
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    // p - 1, and p and p + 1, which are 0 and 1 once more.
    `ec${'ff'.repeat(30)}7f`,
    `ed${'ff'.repeat(30)}7f`,
    `ee${'ff'.repeat(30)}7f`,
    // The two of order 8.
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ]),
  ed448: new Set([
    '00'.repeat(57),
    `01${'00'.repeat(56)}`,
    `fe${'ff'.repeat(27)}fe${'ff'.repeat(27)}00`,
    `${'ff'.repeat(28)}fe${'ff'.repeat(27)}00`,
    `${'00'.repeat(28)}${'ff'.repeat(28)}00`,
  ]),
};

/** Whether an Ed25519 or Ed448 key is such a point. The highest bit is the sign of x and is ignored. */
export function hasSmallOrder(key: KeyObject): boolean {
  const type = key.asymmetricKeyType;
  if (type !== 'ed25519' && type !== 'ed448') return false;
  const bytes = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  const last = bytes.length - 1;
  bytes[last] = bytes[last]! & 0x7f;
  return smallOrderPoints[type].has(bytes.toString('hex'));
}
