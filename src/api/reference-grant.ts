// ReferenceGrant (gateway.networking.k8s.io): lets kinds of other namespaces refer to objects of this one.
import * as z from 'zod';
import {
  groupSchema,
  kindSchema,
  namespaceNameSchema,
  objectNameSchema,
  subdomainNameSchema,
} from './kubernetes-names.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';

/** A ReferenceGrant. */
export const referenceGrantSchema = z.object({
  apiVersion: z.enum(['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1']),
  kind: z.literal('ReferenceGrant'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: z.object({
    from: z
      .array(
        z.object({
          group: groupSchema.describe("The referrer's API group."),
          kind: kindSchema.describe("The referrer's kind."),
          namespace: namespaceNameSchema.describe("The referrer's namespace."),
        }),
      )
      .min(1)
      .max(16)
      .describe('Who may refer: any of these.'),
    to: z
      .array(
        z.object({
          group: groupSchema.describe("The object's API group; empty is the core group."),
          kind: kindSchema.describe("The object's kind."),
          name: objectNameSchema.optional().describe("The object's name; every object of the kind when absent."),
        }),
      )
      .min(1)
      .max(16)
      .describe('What may be referred to: any of these.'),
  }),
  status: statusSchema,
});

/** A parsed ReferenceGrant. */
export type ReferenceGrant = z.output<typeof referenceGrantSchema>;
