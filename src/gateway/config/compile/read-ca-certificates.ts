// Trust anchors from Secret messages: PEM that TLS will be able to read, or a reason why not.
import { X509Certificate } from 'node:crypto';
import type { Secret } from '../../../ir/gen/config_pb.ts';
import { describeError } from './compile-problem.ts';
import type { Lookup } from './recorded-reads.ts';

/** The trust anchors cannot be used. */
export class CaCertificateError extends Error {
  readonly code = 'invalid_ca_certificate';
}

/** The PEM text behind a key; every certificate in it is readable, and there is at least one. */
export function readCaCertificates(key: string, secrets: Lookup<Secret>): string {
  const value = secrets.get(key)?.value;
  if (value?.case !== 'caCertificates') throw new CaCertificateError(`the CA certificates ${key} are missing`);
  const blocks = value.value.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g);
  if (blocks === null) throw new CaCertificateError(`${key} holds no CA certificate`);
  for (const block of blocks) {
    try {
      void new X509Certificate(block);
    } catch (error) {
      throw new CaCertificateError(`${key} holds a CA certificate that cannot be read: ${describeError(error)}`, {
        cause: error,
      });
    }
  }
  return value.value;
}
