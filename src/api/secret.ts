// Secret (core): certificates with their keys, certificate authorities, credentials.
import * as z from 'zod';
import { subdomainNameSchema } from './kubernetes-names.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';

/** The key of an entry of a Secret or ConfigMap. */
export const dataKeySchema = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/, 'the key must be letters, digits, "-", "_" and "." only');

/** Base64 with padding, as Kubernetes writes bytes (RFC 4648, section 4). */
export const base64Schema = z
  .string()
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'must be base64');

/** A Secret. */
export const secretSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  type: z
    .string()
    .default('Opaque')
    .describe('kubernetes.io/tls for a certificate (tls.crt) with its key (tls.key); else Opaque.'),
  immutable: z.boolean().optional().describe('For Kubernetes: the Secret never changes.'),
  data: z.record(dataKeySchema, base64Schema).default({}).describe('Entries, in base64.'),
  stringData: z
    .record(dataKeySchema, z.string())
    .default({})
    .describe('Entries, as text; they win over `data`. In files `${NAME}` takes a value from the environment.'),
  status: statusSchema,
});

/** A parsed Secret. */
export type Secret = z.output<typeof secretSchema>;

/** The bytes of an entry, wherever it stands; undefined when there is none. */
export function readSecretEntry(secret: Secret, key: string): Uint8Array | undefined {
  if (Object.hasOwn(secret.stringData, key)) return Buffer.from(secret.stringData[key]!, 'utf8');
  if (Object.hasOwn(secret.data, key)) return Buffer.from(secret.data[key]!, 'base64');
  return undefined;
}
