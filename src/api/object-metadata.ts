// metadata of every resource: identity, labels, and what an API server adds to an object that was exported from it.
import * as z from 'zod';
import { labelKeySchema, labelValueSchema, namespaceNameSchema } from './kubernetes-names.ts';
import { refuse } from './not-supported-yet.ts';

const timestampSchema = z.iso.datetime({
  offset: true,
  error: 'must be an RFC 3339 time such as 2026-01-31T12:00:00Z',
});

const identityFields = {
  labels: z.record(labelKeySchema, labelValueSchema).default({}).describe('Labels, for selectors.'),
  annotations: z.record(labelKeySchema, z.string()).default({}).describe('Annotations.'),
  creationTimestamp: timestampSchema
    .optional()
    .describe('When the object was created. In a conflict the older object takes precedence.'),
  uid: z.string().optional().describe('Set by Kubernetes.'),
  resourceVersion: z.string().optional().describe('Set by Kubernetes.'),
  generation: z.int().optional().describe('Set by Kubernetes: counts the changes of the spec.'),
  deletionTimestamp: timestampSchema.optional().describe('Set by Kubernetes: when deletion was asked for.'),
  deletionGracePeriodSeconds: z.int().optional().describe('Set by Kubernetes.'),
  selfLink: z.string().optional().describe('Set by old versions of Kubernetes.'),
  managedFields: z.array(z.unknown()).optional().describe('Set by Kubernetes.'),
  ownerReferences: z.array(z.unknown()).optional().describe('Set by Kubernetes controllers.'),
  finalizers: z.array(z.string()).optional().describe('Set by Kubernetes controllers.'),
  generateName: refuse(z.string().optional(), 'set `name` instead: only an API server can generate names', {
    origin: 'file',
  }).describe('Lets an API server generate the name.'),
};

/** metadata of a kind that lives in a namespace; without one it is `default`. */
export function namespacedMetadataSchema<N extends z.ZodType<string, string>>(name: N) {
  return z.object({
    name: name.describe('Unique within the namespace and kind.'),
    namespace: namespaceNameSchema.default('default').describe('The namespace; `default` when absent.'),
    ...identityFields,
  });
}

/** metadata of a kind that belongs to no namespace. */
export function clusterMetadataSchema<N extends z.ZodType<string, string>>(name: N) {
  return z.object({
    name: name.describe('Unique within the kind.'),
    namespace: refuse(z.string().optional(), 'remove it: this kind belongs to no namespace').describe('Always absent.'),
    ...identityFields,
  });
}

/** `status`, which the gateway writes and never reads from a file. */
export const statusSchema = refuse(z.unknown().optional(), 'remove it: status is written by the gateway, not read', {
  origin: 'file',
}).describe('Written by the gateway.');
