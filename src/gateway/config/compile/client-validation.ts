// What a listener asks of the certificates of its clients (Gateway API 1.6, spec.tls.frontend; RFC 8446, 4.4.2), from messages.
import { createHash } from 'node:crypto';
import type { Listener, Secret } from '../../../ir/gen/config_pb.ts';
import { CaCertificateError, readCaCertificates } from './read-ca-certificates.ts';
import type { Lookup } from './recorded-reads.ts';

/** Clients have to prove themselves, or are asked to. */
export interface ClientValidation {
  /** PEM: who signs the certificates of clients. */
  readonly authorities: string;
  /** Otherwise one that is missing or not valid changes nothing. */
  readonly isRequired: boolean;
  /** Stands for the authorities. */
  readonly digest: string;
}

/** Reads the validation of a listener; undefined when it has none. Throws a CaCertificateError when it cannot be enforced. */
export function readClientValidation(
  { clientValidation }: Listener,
  secrets: Lookup<Secret>,
): ClientValidation | undefined {
  if (clientValidation === undefined) return undefined;
  const { ca, allowInsecureFallback } = clientValidation;
  // Without any, TLS would fall back to the authorities of the system, and let their clients in.
  if (ca.length === 0) throw new CaCertificateError('there are no authorities for the certificates of clients');
  const authorities = ca.map((key) => readCaCertificates(key, secrets)).join('\n');
  const digest = createHash('sha256').update(authorities).digest('base64url');
  return { authorities, isRequired: !allowInsecureFallback, digest };
}
