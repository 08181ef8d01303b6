// Self-signed certificates (RFC 5280) for tests, made in memory: no openssl on the machine, no keys in the repository.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface SelfSignedCertificate {
  /** PEM. Also its own trust anchor. */
  readonly certificate: string;
  /** PEM, PKCS #8. */
  readonly privateKey: string;
}

export interface SelfSignedOptions {
  /** DNS names; '*.example.com' is possible. */
  readonly names: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly keyType?: 'rsa' | 'ec';
}

/** Makes a key and a certificate for it, valid from yesterday for ten years. */
export function createSelfSignedCertificate(options: SelfSignedOptions): SelfSignedCertificate {
  const { publicKey, privateKey } =
    options.keyType === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = encodeAlgorithm(privateKey);
  const body = encodeSequence(
    encode(0xa0, encodeInteger(Buffer.from([2]))),
    encodeInteger(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    encodeName(options.names[0] ?? 'test'),
    encodeSequence(encodeTime(-1), encodeTime(3650)),
    encodeName(options.names[0] ?? 'test'),
    publicKey.export({ type: 'spki', format: 'der' }),
    encode(0xa3, encodeSequence(encodeAlternativeNames(options), encodeBasicConstraints())),
  );
  const signature = encode(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]));
  const der = encodeSequence(body, algorithm, signature);
  const lines = der.toString('base64').match(/.{1,64}/g)!;
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

function encode(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function encodeSequence(...parts: Buffer[]): Buffer {
  return encode(0x30, ...parts);
}

function encodeInteger(bytes: Buffer): Buffer {
  return encode(0x02, bytes);
}

function encodeObjectIdentifier(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const number of others) {
    const groups = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return encode(0x06, Buffer.from(bytes));
}

function encodeAlgorithm(key: KeyObject): Buffer {
  // ecdsa-with-SHA256, or sha256WithRSAEncryption with its NULL parameter.
  if (key.asymmetricKeyType === 'ec') return encodeSequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));
  return encodeSequence(encodeObjectIdentifier('1.2.840.113549.1.1.11'), encode(0x05));
}

function encodeName(commonName: string): Buffer {
  const attribute = encodeSequence(encodeObjectIdentifier('2.5.4.3'), encode(0x0c, Buffer.from(commonName)));
  return encodeSequence(encode(0x31, attribute));
}

function encodeTime(days: number): Buffer {
  const date = new Date(Date.now() + days * 86_400_000);
  return encode(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`));
}

function encodeAlternativeNames({ names, ipAddresses = [] }: SelfSignedOptions): Buffer {
  const entries = [
    ...names.map((name) => encode(0x82, Buffer.from(name))),
    ...ipAddresses.map((address) => encode(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  return encodeSequence(encodeObjectIdentifier('2.5.29.17'), encode(0x04, encodeSequence(...entries)));
}

function encodeBasicConstraints(): Buffer {
  const isAuthority = encodeSequence(encode(0x01, Buffer.from([0xff])));
  return encodeSequence(
    encodeObjectIdentifier('2.5.29.19'),
    encode(0x01, Buffer.from([0xff])),
    encode(0x04, isAuthority),
  );
}
