// EndpointSlice (discovery.k8s.io): the addresses behind a Service, and which of them are ready.
import { isIPv4, isIPv6 } from 'node:net';
import * as z from 'zod';
import { hostnameSchema } from './hostname.ts';
import { labelKeySchema, namespaceNameSchema, portNumberSchema, subdomainNameSchema } from './kubernetes-names.ts';
import { uniqueItems } from './list-rules.ts';
import { notSupportedYet } from './not-supported-yet.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import { portNameSchema } from './service.ts';

/** The label that ties an EndpointSlice to its Service. */
export const serviceNameLabel = 'kubernetes.io/service-name';

const endpointSchema = z.object({
  addresses: z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(100)
    .superRefine(uniqueItems)
    .describe('Addresses of the type `addressType`; all reach the same endpoint, and the first is used.'),
  conditions: z
    .object({
      ready: z.boolean().optional().describe('Whether the endpoint takes traffic; true when absent.'),
      serving: z.boolean().optional().describe('Whether it answers, even while it terminates; as `ready` when absent.'),
      terminating: z.boolean().optional().describe('Whether it is going away; false when absent.'),
    })
    .default({})
    .describe('The conditions of the endpoint.'),
  hostname: namespaceNameSchema.optional().describe('For Kubernetes.'),
  nodeName: z.string().optional().describe('For Kubernetes: the node of the endpoint.'),
  zone: z.string().optional().describe('For Kubernetes: the zone of the endpoint.'),
  targetRef: z.unknown().optional().describe('For Kubernetes: the pod of the endpoint.'),
  hints: notSupportedYet(z.unknown().optional(), { origin: 'file' }).describe(
    'For Kubernetes: prefers near endpoints.',
  ),
  deprecatedTopology: z.record(labelKeySchema, z.string()).optional().describe('For old versions of Kubernetes.'),
});

const endpointPortSchema = z.object({
  name: portNameSchema.default('').describe('The name of the Service port that this belongs to.'),
  port: portNumberSchema.optional().describe('Where the endpoints listen.'),
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).default('TCP').describe('TCP. Other protocols are never connected to.'),
  appProtocol: z.string().max(253).optional().describe("As the Service port's appProtocol."),
});

const addressChecks = {
  IPv4: { matches: isIPv4, message: 'must be an IPv4 address such as 127.0.0.1' },
  IPv6: { matches: isIPv6, message: 'must be an IPv6 address such as ::1' },
  FQDN: {
    matches: (address: string) => !address.startsWith('*') && hostnameSchema.safeParse(address).success,
    message: 'must be a lower-case host name',
  },
};

/** An EndpointSlice. */
export const endpointSliceSchema = z
  .object({
    apiVersion: z.literal('discovery.k8s.io/v1'),
    kind: z.literal('EndpointSlice'),
    metadata: namespacedMetadataSchema(subdomainNameSchema),
    addressType: z.enum(['IPv4', 'IPv6', 'FQDN']).describe('The type of every address.'),
    endpoints: z.array(endpointSchema).max(1000).default([]).describe('The endpoints.'),
    ports: z.array(endpointPortSchema).max(20_000).default([]).describe('The ports that every endpoint listens on.'),
    status: statusSchema,
  })
  .superRefine((slice, context) => {
    const check = addressChecks[slice.addressType];
    for (const [index, endpoint] of slice.endpoints.entries()) {
      for (const [position, address] of endpoint.addresses.entries()) {
        if (!check.matches(address))
          context.addIssue({
            code: 'custom',
            path: ['endpoints', index, 'addresses', position],
            message: check.message,
          });
      }
    }
    const names = new Set<string>();
    for (const [index, { name }] of slice.ports.entries()) {
      if (names.has(name))
        context.addIssue({ code: 'custom', path: ['ports', index, 'name'], message: 'must be unique' });
      names.add(name);
    }
  });

/** A parsed EndpointSlice. */
export type EndpointSlice = z.output<typeof endpointSliceSchema>;
