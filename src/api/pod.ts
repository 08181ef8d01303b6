// Pod (core): only the fields that decide whether it is an endpoint of an InferencePool. All others are ignored and not kept.
import { isIP } from 'node:net';
import * as z from 'zod';
import { nullRemovesKey } from './free-form.ts';
import { labelKeySchema, labelValueSchema, namespaceNameSchema, subdomainNameSchema } from './kubernetes-names.ts';

/** A mapping of which some fields are read; any others may be there, and are left out. */
function partlyReadSchema<S extends z.ZodRawShape>(fields: S) {
  return z.object(fields).meta({ additionalProperties: {}, [nullRemovesKey]: true });
}

const addressSchema = z
  .string()
  .max(64)
  .superRefine((address, context) => {
    // A Pod without an address yet may have an empty one.
    if (address !== '' && isIP(address) === 0) context.addIssue({ code: 'custom', message: 'must be an IP address' });
  });

const podStatusSchema = partlyReadSchema({
  phase: z.string().optional().describe('The phase. Only a Running Pod is an endpoint.'),
  podIP: addressSchema.optional().describe('The address of the Pod.'),
  podIPs: z
    .array(partlyReadSchema({ ip: addressSchema.optional().describe('An address.') }))
    .optional()
    .describe('All addresses of the Pod; the first is `podIP`.'),
  conditions: z
    .array(
      partlyReadSchema({
        type: z.string().describe('Ready. Other conditions are ignored.'),
        status: z.string().describe('True, False or Unknown.'),
      }),
    )
    .optional()
    .describe('The conditions. A Pod is an endpoint only while Ready is True.'),
});

/** A Pod. */
export const podSchema = partlyReadSchema({
  apiVersion: z.literal('v1'),
  kind: z.literal('Pod'),
  metadata: partlyReadSchema({
    name: subdomainNameSchema.describe('Unique within the namespace and kind.'),
    namespace: namespaceNameSchema.default('default').describe('The namespace; `default` when absent.'),
    labels: z.record(labelKeySchema, labelValueSchema).default({}).describe('Labels, for selectors.'),
    deletionTimestamp: z
      .string()
      .optional()
      .describe('Set by Kubernetes: the Pod is terminating and no longer an endpoint.'),
  }),
  status: podStatusSchema.default({}).describe('The state of the Pod.'),
});

/** A parsed Pod. */
export type Pod = z.output<typeof podSchema>;

/** Where a Pod takes requests; undefined while it does not: it is not running, not ready, going away, or has no address. */
export function readReadyAddress({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp !== undefined || status.phase !== 'Running') return undefined;
  const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  if (isReady !== true) return undefined;
  return [status.podIP, status.podIPs?.[0]?.ip].find((address) => address !== undefined && address !== '');
}
