// ConfigMap (core): certificate authorities, for backends with a private one.
import * as z from 'zod';
import { subdomainNameSchema } from './kubernetes-names.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import { base64Schema, dataKeySchema } from './secret.ts';

/** A ConfigMap. */
export const configMapSchema = z
  .object({
    apiVersion: z.literal('v1'),
    kind: z.literal('ConfigMap'),
    metadata: namespacedMetadataSchema(subdomainNameSchema),
    immutable: z.boolean().optional().describe('For Kubernetes: the ConfigMap never changes.'),
    data: z.record(dataKeySchema, z.string()).default({}).describe('Entries, as text.'),
    binaryData: z.record(dataKeySchema, base64Schema).default({}).describe('Entries, in base64.'),
    status: statusSchema,
  })
  .superRefine((configMap, context) => {
    for (const key of Object.keys(configMap.binaryData)) {
      if (Object.hasOwn(configMap.data, key))
        context.addIssue({ code: 'custom', path: ['binaryData', key], message: 'must not be in `data` as well' });
    }
  });

/** A parsed ConfigMap. */
export type ConfigMap = z.output<typeof configMapSchema>;

/** The bytes of an entry, wherever it stands; undefined when there is none. */
export function readConfigMapEntry(configMap: ConfigMap, key: string): Uint8Array | undefined {
  if (Object.hasOwn(configMap.data, key)) return Buffer.from(configMap.data[key]!, 'utf8');
  if (Object.hasOwn(configMap.binaryData, key)) return Buffer.from(configMap.binaryData[key]!, 'base64');
  return undefined;
}
