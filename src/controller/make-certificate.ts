// Makes a certificate authority and a server certificate (X.509 v3, RFC 5280; ECDSA P-256) with node:crypto. The authority signs this one certificate; its
// private key is never stored, so nobody can sign another one.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  derBitString,
  derElement,
  derObjectIdentifier,
  derSequence,
  derTime,
  formatPemCertificate,
} from '../base/der.ts';

/** PEM, all of them. */
export interface MadeCertificate {
  readonly certificateChain: string;
  readonly privateKey: string;
  readonly ca: string;
}

/** What the certificate says. Times in milliseconds since 1970. */
interface CertificateWish {
  /** DNS names. */
  readonly names: readonly string[];
  readonly validFrom: number;
  readonly validTo: number;
}

const oid = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

/** Makes both, with new keys. */
export function makeCertificate({ names, validFrom, validTo }: CertificateWish): MadeCertificate {
  const authority = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const server = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  // Its own name for each authority: trusted lists hold several of them.
  const issuer = `proxy-xds CA ${randomBytes(8).toString('hex')}`;
  const common = { issuer, validFrom, validTo, signer: authority };
  return {
    ca: encodeCertificate({
      ...common,
      subject: issuer,
      publicKey: authority.publicKey,
      extensions: [
        // An authority of end certificates only.
        extension(oid.basicConstraints, derSequence(encodeBoolean(true), encodeInteger(Buffer.from([0]))), true),
        // keyCertSign
        extension(oid.keyUsage, derBitString(Buffer.from([0x04]), 2), true),
      ],
    }),
    certificateChain: encodeCertificate({
      ...common,
      // The names are in the subjectAltName; a common name has at most 64 characters.
      subject: 'proxy-xds',
      publicKey: server.publicKey,
      extensions: [
        extension(oid.basicConstraints, derSequence(), true),
        // digitalSignature
        extension(oid.keyUsage, derBitString(Buffer.from([0x80]), 7), true),
        extension(oid.extendedKeyUsage, derSequence(derObjectIdentifier(oid.serverAuth))),
        extension(oid.subjectAltName, derSequence(...names.map((name) => derElement(0x82, Buffer.from(name))))),
      ],
    }),
    privateKey: server.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

interface CertificateContent {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly issuer: string;
  readonly signer: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly validFrom: number;
  readonly validTo: number;
  readonly extensions: readonly Buffer[];
}

function encodeCertificate(content: CertificateContent): string {
  const { subject, publicKey, issuer, signer, validFrom, validTo, extensions } = content;
  const algorithm = derSequence(derObjectIdentifier(oid.ecdsaWithSha256));
  const body = derSequence(
    // Version 3.
    derElement(0xa0, encodeInteger(Buffer.from([2]))),
    // The leading byte keeps the serial number positive and of full length.
    encodeInteger(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    encodeName(issuer),
    derSequence(derTime(new Date(validFrom)), derTime(new Date(validTo))),
    encodeName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    derElement(
      0xa3,
      derSequence(
        ...extensions,
        extension(oid.subjectKeyIdentifier, derElement(0x04, identifyKey(publicKey))),
        extension(oid.authorityKeyIdentifier, derSequence(derElement(0x80, identifyKey(signer.publicKey)))),
      ),
    ),
  );
  const signature = sign('sha256', body, signer.privateKey);
  return formatPemCertificate(derSequence(body, algorithm, derBitString(signature)));
}

/** RFC 7093, 2: the leftmost 160 bits of a SHA-256 hash. */
function identifyKey(key: KeyObject): Buffer {
  const hash = createHash('sha256').update(key.export({ type: 'spki', format: 'der' }));
  return hash.digest().subarray(0, 20);
}

function encodeName(commonName: string): Buffer {
  const attribute = derSequence(derObjectIdentifier(oid.commonName), derElement(0x0c, Buffer.from(commonName)));
  return derSequence(derElement(0x31, attribute));
}

function extension(identifier: string, value: Buffer, isCritical = false): Buffer {
  return derSequence(
    derObjectIdentifier(identifier),
    ...(isCritical ? [encodeBoolean(true)] : []),
    derElement(0x04, value),
  );
}

function encodeBoolean(value: boolean): Buffer {
  return derElement(0x01, Buffer.from([value ? 0xff : 0]));
}

function encodeInteger(bytes: Buffer): Buffer {
  return derElement(0x02, bytes);
}
