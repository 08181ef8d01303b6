// What a container asks of its node, and what it may use at most (core ResourceRequirements).
import * as z from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { labelKeySchema } from './kubernetes-names.ts';

const quantityRule = 'must be a quantity such as 500m, 2 or 256Mi';

const quantitySchema = z
  .union(
    [
      z.int().min(0),
      z
        .string()
        .min(1)
        .max(32)
        .regex(/^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/, quantityRule),
    ],
    { error: quantityRule },
  )
  .meta({ 'x-kubernetes-int-or-string': true, 'x-pattern-rule': quantityRule });

/** requests and limits of a container. */
export const containerResourcesSchema = z.object({
  requests: boundedMapSchema(labelKeySchema, quantitySchema, 16)
    .optional()
    .describe('What the scheduler reserves: `cpu`, `memory`. 100m and 128Mi by default.'),
  limits: boundedMapSchema(labelKeySchema, quantitySchema, 16)
    .optional()
    .describe('What the container may use at most; no limit when absent.'),
});
