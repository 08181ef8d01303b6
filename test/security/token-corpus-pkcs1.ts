// RSA signatures with padding of one's own making (RFC 8017 section 9.2): what careless verifiers take for PKCS #1 v1.5.
import { constants, createHash, type KeyObject, privateEncrypt } from 'node:crypto';
import type { Signer } from '../kit/forge-token.ts';

const modulusBytes = 256;
/** DigestInfo of SHA-256 up to the hash. */
const sha256Prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex');
/** The same without the NULL behind the name of the hash. */
const sha256PrefixWithoutNull = Buffer.from('302f300b06096086480165030402010420', 'hex');

/** The block that RSA raises to the private exponent, for a key of 2048 bits: 00 01 FF... 00 DigestInfo. */
export function formatPkcs1Block(digest: Buffer, prefix: Buffer = sha256Prefix): Buffer {
  return padBlock(Buffer.concat([prefix, digest]));
}

function padBlock(info: Buffer): Buffer {
  const padding = Buffer.alloc(modulusBytes - info.length - 3, 0xff);
  return Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info]);
}

/** Blocks that are not exactly what RFC 8017 says, each over the right hash. */
export const oddPaddings: Readonly<Record<string, (digest: Buffer) => Buffer>> = {
  'no NULL behind the name of the hash': (digest) => formatPkcs1Block(digest, sha256PrefixWithoutNull),
  'no DigestInfo, the hash alone': (digest) => padBlock(digest),
  'block type 2': (digest) => withByte(formatPkcs1Block(digest), 1, 2),
  'block type 0': (digest) => withByte(formatPkcs1Block(digest), 1, 0),
  'a first byte that is not zero': (digest) => withByte(formatPkcs1Block(digest), 0, 0x01, 0x00),
  'a padding byte that is not FF': (digest) => withByte(formatPkcs1Block(digest), 50, 0xfe),
  'zeros for padding': (digest) => Buffer.concat([Buffer.alloc(modulusBytes - 51), sha256Prefix, digest]),
  // Bleichenbacher 2006 (CVE-2006-4339): short padding, the hash, and then room to make a cube root fit.
  'the hash in front and garbage behind': (digest) =>
    Buffer.concat([
      Buffer.of(0, 1, ...Array.from({ length: 8 }, () => 0xff), 0),
      sha256Prefix,
      digest,
      Buffer.alloc(modulusBytes - 11 - 51, 0x41),
    ]),
  'a length of DigestInfo in the long form': (digest) =>
    formatPkcs1Block(digest, Buffer.concat([Buffer.of(0x30, 0x81, 0x31), sha256Prefix.subarray(2)])),
  'a DigestInfo that names SHA-1': (digest) =>
    padBlock(Buffer.concat([Buffer.from('302d300906052b0e03021a05000420', 'hex'), digest])),
  'the hash of SHA-512 for SHA-256': (digest) => formatPkcs1Block(createHash('sha512').update(digest).digest()),
};

/** Signs with such a block. */
export function signPadded(key: KeyObject, pad: (digest: Buffer) => Buffer): Signer {
  return (input) => {
    const block = pad(createHash('sha256').update(input).digest());
    return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, block);
  };
}

function withByte(block: Buffer, at: number, ...values: readonly number[]): Buffer {
  const changed = Buffer.from(block);
  changed.set(values, at);
  return changed;
}
