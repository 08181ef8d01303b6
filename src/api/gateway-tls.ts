// spec.tls of a Gateway: client certificates on the way in (frontend) and on the way out (backend).
import * as z from 'zod';
import { portNumberSchema } from './kubernetes-names.ts';
import { notSupportedYet } from './not-supported-yet.ts';
import { objectReferenceSchema, secretObjectReferenceSchema } from './object-reference.ts';

const frontendValidationSchema = z.object({
  validation: z
    .object({
      caCertificateRefs: z
        .array(objectReferenceSchema)
        .min(1)
        .max(16)
        .describe(
          'Certificate authorities of the clients: ConfigMaps or Secrets with PEM certificates in their entry `ca.crt`. The certificate of a client may come from any of them.',
        ),
      mode: z
        .enum(['AllowValidOnly', 'AllowInsecureFallback'])
        .default('AllowValidOnly')
        .describe(
          'AllowValidOnly refuses connections without a valid certificate; AllowInsecureFallback asks for one and accepts every client.',
        ),
    })
    .optional()
    .describe('How client certificates are validated.'),
});

/** spec.tls of a Gateway. */
export const gatewayTlsSchema = z.object({
  backend: notSupportedYet(
    z
      .object({
        clientCertificateRef: secretObjectReferenceSchema.optional().describe('The certificate shown to backends.'),
      })
      .optional(),
  ).describe('TLS towards backends.'),
  frontend: z
    .object({
      default: frontendValidationSchema.describe('For every HTTPS listener.'),
      perPort: z
        .array(
          z.object({
            port: portNumberSchema.describe('The port.'),
            tls: frontendValidationSchema.describe('For listeners on this port.'),
          }),
        )
        .max(64)
        .superRefine((entries, context) => {
          const ports = entries.map(({ port }) => port);
          for (const [index, port] of ports.entries()) {
            if (ports.indexOf(port) < index)
              context.addIssue({ code: 'custom', path: [index, 'port'], message: 'must be unique' });
          }
        })
        .optional()
        .describe('For the listeners of one port, in place of the default.'),
    })
    .optional()
    .describe('TLS towards clients.'),
});
