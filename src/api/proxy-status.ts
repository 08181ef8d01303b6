// status of ProxyBackend and ProxyPolicy, as the controller writes it: conditions, for a policy by ancestor (GEP-713).
import * as z from 'zod';
import { parentReferenceSchema } from './parent-reference.ts';

const conditionSchema = z.object({
  type: z
    .string()
    .max(316)
    .regex(
      /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
      'must be the name of a condition',
    )
    .describe('What the condition is about.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z
    .int()
    .min(0)
    .meta({ format: 'int64' })
    .optional()
    .describe('The generation of the object that the condition is about.'),
  lastTransitionTime: z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 time' })
    .describe('When the status last changed.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, 'must be one word')
    .describe('Why, in one word.'),
  message: z.string().max(32768).describe('Why, for a person.'),
});

const conditionsSchema = z
  .array(conditionSchema)
  .max(8)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

/** status of a ProxyBackend. */
export const proxyBackendStatusSchema = z
  .object({
    conditions: conditionsSchema
      .optional()
      .describe('Accepted and ResolvedRefs, and TargetsHealthy for several targets.'),
  })
  .describe('Written by the gateway.');

/** status of a ProxyPolicy. */
export const proxyPolicyStatusSchema = z
  .object({
    ancestors: z
      .array(
        z.object({
          ancestorRef: parentReferenceSchema.describe('The Gateway.'),
          controllerName: z.string().min(1).max(253).describe('The controller that wrote the entry.'),
          conditions: conditionsSchema.optional().describe('Accepted, Attached and Programmed.'),
        }),
      )
      .max(16)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('One entry for each Gateway that the policy is in force on.'),
  })
  .describe('Written by the gateway.');
