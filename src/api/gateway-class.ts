// GatewayClass (gateway.networking.k8s.io): which controller serves the Gateways that name it.
import * as z from 'zod';
import { subdomainNameSchema } from './kubernetes-names.ts';
import { refuse } from './not-supported-yet.ts';
import { clusterMetadataSchema, statusSchema } from './object-metadata.ts';
import { objectReferenceSchema } from './object-reference.ts';

/** The controller name of this gateway. */
export const controllerName = 'gateway.proxy/controller';

/** A GatewayClass. */
export const gatewayClassSchema = z.object({
  apiVersion: z.enum(['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1']),
  kind: z.literal('GatewayClass'),
  metadata: clusterMetadataSchema(subdomainNameSchema),
  spec: z.object({
    controllerName: z
      .string()
      .min(1)
      .max(253)
      .regex(
        /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/,
        `must be a domain and a path, such as ${controllerName}`,
      )
      .describe(
        `The controller that serves this class; this gateway is \`${controllerName}\`. Classes of other controllers are ignored.`,
      ),
    parametersRef: refuse(objectReferenceSchema.optional(), 'only a controller deploys Gateways; `run` does not', {
      origin: 'file',
    }).describe(
      'GatewayParameters for every Gateway of the class, with their namespace: what the controller deploys, and how.',
    ),
    description: z.string().max(64).optional().describe('What the class is for.'),
  }),
  status: statusSchema,
});

/** A parsed GatewayClass. */
export type GatewayClass = z.output<typeof gatewayClassSchema>;
