// A certificate (X.509 v1, RFC 5280) with its key, made on the spot: it takes the place of one that may not be read. No handshake ever shows it.
import { generateKeyPairSync, sign } from 'node:crypto';
import {
  derBitString,
  derElement,
  derObjectIdentifier,
  derSequence,
  derTime,
  formatPemCertificate,
} from '../../base/der.ts';

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
  // ecdsa-with-SHA256, and the common name.
  const algorithm = derSequence(derObjectIdentifier('1.2.840.10045.4.3.2'));
  const attribute = derSequence(derObjectIdentifier('2.5.4.3'), derElement(0x0c, Buffer.from('stand-in')));
  const name = derSequence(derElement(0x31, attribute));
  const validity = derSequence(derTime(new Date('2020-01-01T00:00:00Z')), derTime(new Date('2049-12-31T23:59:59Z')));
  const body = derSequence(
    derElement(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  return {
    certificate: formatPemCertificate(derSequence(body, algorithm, derBitString(sign('sha256', body, privateKey)))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}
