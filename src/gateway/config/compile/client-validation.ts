// Reads how a listener validates client certificates (Gateway API 1.6, spec.tls.frontend; RFC 8446, 4.4.2).
import { createHash } from 'node:crypto';
import type { Listener, Secret } from '../../../ir/gen/config_pb.ts';
import { CaCertificateError, readCaCertificates } from './read-ca-certificates.ts';
import type { Lookup } from './recorded-reads.ts';

/** How a listener validates client certificates. */
export interface ClientValidation {
  /** PEM of the CAs that sign client certificates. */
  readonly authorities: string;
  /** False: clients without a valid certificate are served as well. */
  readonly isRequired: boolean;
  /** SHA-256 of `authorities`. */
  readonly digest: string;
}

/** Reads the validation of a listener; undefined when it has none. Throws a CaCertificateError when it cannot be enforced. */
export function readClientValidation(
  { clientValidation }: Listener,
  secrets: Lookup<Secret>,
): ClientValidation | undefined {
  if (clientValidation === undefined) return undefined;
  const { ca, allowInsecureFallback } = clientValidation;
  // With an empty list, TLS would fall back to the system's CAs and accept their clients.
  if (ca.length === 0) throw new CaCertificateError('the validation of client certificates names no CA certificate');
  const authorities = ca.map((key) => readCaCertificates(key, secrets)).join('\n');
  const digest = createHash('sha256').update(authorities).digest('base64url');
  return { authorities, isRequired: !allowInsecureFallback, digest };
}
