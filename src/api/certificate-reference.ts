// caCertificateRef: certificate authorities to trust in place of the public ones.
import * as z from 'zod';
import { objectNameSchema } from './kubernetes-names.ts';

/** The entry of the ConfigMap or Secret that holds the certificates. */
export const caCertificateEntry = 'ca.crt';

/** A ConfigMap or Secret of the same namespace with PEM certificates in its entry `ca.crt`. */
export const caCertificateReferenceSchema = z.object({
  kind: z.enum(['ConfigMap', 'Secret']).default('ConfigMap').describe('ConfigMap or Secret.'),
  name: objectNameSchema.describe(
    `The name of the object. Its entry \`${caCertificateEntry}\` holds the certificates as PEM.`,
  ),
});

/** A parsed caCertificateRef. */
export type CaCertificateReference = z.output<typeof caCertificateReferenceSchema>;
