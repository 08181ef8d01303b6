// A certificate (X.509 v1, RFC 5280) with its key, made on the spot: it takes the place of one that may not be read. No handshake ever shows it.
import { generateKeyPairSync, sign } from 'node:crypto';

/** PEM, both. */
interface StandInCertificate {
  readonly certificate: string;
  readonly key: string;
}

let made: StandInCertificate | undefined;

/** The same one for every place, and for as long as the process runs. */
export function getStandInCertificate(): StandInCertificate {
  return (made ??= makeCertificate());
}

function makeCertificate(): StandInCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  // 1.2.840.10045.4.3.2, ecdsa-with-SHA256; 2.5.4.3, the common name.
  const algorithm = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
  const attribute = sequence(Buffer.from('0603550403', 'hex'), element(0x0c, Buffer.from('stand-in')));
  const name = sequence(element(0x31, attribute));
  const validity = sequence(element(0x17, Buffer.from('200101000000Z')), element(0x17, Buffer.from('491231235959Z')));
  const body = sequence(
    element(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]));
  const text = sequence(body, algorithm, signature).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd();
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

function sequence(...elements: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements));
}

/** DER (X.690) with lengths below 65,536. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
