// The few elements of DER (X.690) that certificates and names are written with.

/** An element: its tag, its length and its content. */
export function derElement(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const lengthBytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) lengthBytes.unshift(left & 0xff);
  return Buffer.concat([Buffer.from([tag, 0x80 | lengthBytes.length, ...lengthBytes]), content]);
}

/** SEQUENCE */
export function derSequence(...elements: readonly Uint8Array[]): Buffer {
  return derElement(0x30, Buffer.concat(elements));
}

/** OBJECT IDENTIFIER, from its dotted form. */
export function derObjectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return derElement(0x06, Buffer.from(bytes));
}

/** BIT STRING; the last byte has `unusedBits` that do not count. */
export function derBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return derElement(0x03, Buffer.concat([Buffer.from([unusedBits]), bytes]));
}

/** A time as certificates have it (RFC 5280, 4.1.2.5): UTCTime, and GeneralizedTime from 2050 on. */
export function derTime(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? derElement(0x17, Buffer.from(digits.slice(2)))
    : derElement(0x18, Buffer.from(digits));
}

/** A certificate as PEM. */
export function formatPemCertificate(der: Uint8Array): string {
  const lines = Buffer.from(der).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
