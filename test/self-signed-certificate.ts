// X.509 certificates (RFC 5280) for tests, made with node:crypto and src/base/der.ts: no openssl binary needed.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  derBitString as bitString,
  derElement as element,
  derObjectIdentifier as objectIdentifier,
  derSequence as sequence,
  derTime as encodeTime,
  formatPemCertificate,
} from '../src/base/der.ts';

/** A certificate and its private key, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate that signs others. */
export interface TestAuthority extends TestCertificate {
  readonly commonName: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** What the certificate says, and who signs it. */
export interface CertificateOptions {
  /** DNS names (wildcards too) and IP addresses for the subjectAltName. The first is the common name. */
  readonly names: readonly string[];
  /** Signs the certificate; without one it signs itself. */
  readonly issuer?: TestAuthority;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly keyType?: 'ec' | 'rsa';
}

const day = 86_400_000;

/** A server certificate with a fresh key. */
export function createCertificate(options: CertificateOptions): TestCertificate {
  const keys = createKeys(options.keyType ?? 'ec');
  const commonName = options.names[0] ?? 'test';
  const issuer = options.issuer ?? { commonName, ...keys };
  const cert = encodeCertificate({
    commonName,
    publicKey: keys.publicKey,
    issuer,
    notBefore: options.notBefore ?? new Date(Date.now() - day),
    notAfter: options.notAfter ?? new Date(Date.now() + 365 * day),
    extensions: [
      extension('2.5.29.19', sequence()),
      extension('2.5.29.15', bitString(Buffer.from([0xa0]), 5), true),
      extension('2.5.29.37', sequence(objectIdentifier('1.3.6.1.5.5.7.3.1'), objectIdentifier('1.3.6.1.5.5.7.3.2'))),
      extension('2.5.29.17', sequence(...options.names.map((name) => encodeAlternativeName(name)))),
    ],
  });
  return { cert, key: exportKey(keys.privateKey) };
}

/** A certificate authority for `issuer`; clients trust its `cert`. */
export function createAuthority(commonName = 'Test CA', keyType: 'ec' | 'rsa' = 'ec'): TestAuthority {
  const keys = createKeys(keyType);
  const cert = encodeCertificate({
    commonName,
    publicKey: keys.publicKey,
    issuer: { commonName, ...keys },
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + 365 * day),
    extensions: [
      extension('2.5.29.19', sequence(element(0x01, Buffer.from([0xff]))), true),
      extension('2.5.29.15', bitString(Buffer.from([0x06]), 1), true),
    ],
  });
  return { cert, key: exportKey(keys.privateKey), commonName, ...keys };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function createKeys(type: 'ec' | 'rsa'): Keys {
  return type === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' });
}

interface CertificateContent {
  readonly commonName: string;
  readonly publicKey: KeyObject;
  readonly issuer: Keys & { readonly commonName: string };
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly extensions: readonly Buffer[];
}

function encodeCertificate(content: CertificateContent): string {
  const { issuer, publicKey } = content;
  const algorithm =
    issuer.privateKey.asymmetricKeyType === 'rsa'
      ? sequence(objectIdentifier('1.2.840.113549.1.1.11'), element(0x05, Buffer.alloc(0)))
      : sequence(objectIdentifier('1.2.840.10045.4.3.2'));
  const identifiers = [
    extension('2.5.29.14', element(0x04, hashKey(publicKey))),
    extension('2.5.29.35', sequence(element(0x80, hashKey(issuer.publicKey)))),
  ];
  // The leading byte keeps the serial number positive and of full length.
  const serial = Buffer.concat([Buffer.from([0x40]), randomBytes(15)]);
  const body = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, serial),
    algorithm,
    encodeName(issuer.commonName),
    sequence(encodeTime(content.notBefore), encodeTime(content.notAfter)),
    encodeName(content.commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...content.extensions, ...identifiers)),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, issuer.privateKey), 0));
  return formatPemCertificate(certificate);
}

function hashKey(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function encodeName(commonName: string): Buffer {
  const attribute = sequence(objectIdentifier('2.5.4.3'), element(0x0c, Buffer.from(commonName)));
  return sequence(element(0x31, attribute));
}

function encodeAlternativeName(name: string): Buffer {
  switch (isIP(name)) {
    case 4:
      return element(0x87, Buffer.from(name.split('.').map(Number)));
    case 6:
      return element(0x87, encodeIpv6(name));
    default:
      return element(0x82, Buffer.from(name));
  }
}

function encodeIpv6(address: string): Buffer {
  const [left = '', right] = address.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const zeros = right === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function extension(identifier: string, value: Buffer, critical = false): Buffer {
  const flag = critical ? [element(0x01, Buffer.from([0xff]))] : [];
  return sequence(objectIdentifier(identifier), ...flag, element(0x04, value));
}
