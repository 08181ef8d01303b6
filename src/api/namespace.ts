// Namespace (core): its labels decide which routes a listener's namespace selector lets in.
import * as z from 'zod';
import { namespaceNameSchema } from './kubernetes-names.ts';
import { clusterMetadataSchema, statusSchema } from './object-metadata.ts';

/** A Namespace. */
export const namespaceSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Namespace'),
  metadata: clusterMetadataSchema(namespaceNameSchema),
  spec: z
    .object({ finalizers: z.array(z.string()).optional().describe('Set by Kubernetes.') })
    .optional()
    .describe('Set by Kubernetes.'),
  status: statusSchema,
});

/** A parsed Namespace. */
export type Namespace = z.output<typeof namespaceSchema>;
