// Service (core): a name for endpoints. They come from EndpointSlices, or are one DNS name (externalName).
import * as z from 'zod';
import { labelKeySchema, labelValueSchema, portNumberSchema, serviceNameSchema } from './kubernetes-names.ts';
import { withFileRule } from './file-rules.ts';
import { isMapping } from './mapping.ts';
import type { Problem } from './problem.ts';
import { notSupportedYet, refuse } from './not-supported-yet.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';

/** The name of a Service or EndpointSlice port: a DNS label with a letter in it, or nothing. */
export const portNameSchema = z
  .string()
  .max(63)
  .regex(/^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be lower-case letters, digits and "-"');

const servicePortSchema = z.object({
  name: portNameSchema
    .default('')
    .describe('Ties the port to the ports of EndpointSlices; required when there are several.'),
  port: portNumberSchema.describe('The port that backendRefs name.'),
  protocol: z
    .enum(['TCP', 'UDP', 'SCTP'])
    .default('TCP')
    .describe('TCP. Other protocols can be named, but no route reaches them.'),
  targetPort: z
    .union([portNumberSchema, portNameSchema.min(1)], { error: 'must be a port number or the name of a port' })
    .optional()
    .describe(
      'Where endpoints listen, if their EndpointSlice does not set a port. With type ExternalName connections go to `port`.',
    ),
  appProtocol: z
    .string()
    .max(253)
    .optional()
    .describe('kubernetes.io/h2c: HTTP/2 without TLS. kubernetes.io/ws and http: HTTP/1.1.'),
  nodePort: z.int().min(0).max(65535).optional().describe('For Kubernetes.'),
});

const forKubernetes = 'For Kubernetes; no effect on the gateway, which connects to endpoints.';

function checkExternalName(spec: unknown): readonly Problem[] {
  if (!isMapping(spec)) return [];
  if (spec['type'] !== 'ExternalName') {
    if (spec['externalName'] === undefined) return [];
    return [{ path: ['externalName'], code: 'invalid', message: 'has no effect without type: ExternalName' }];
  }
  const ports: readonly unknown[] = Array.isArray(spec['ports']) ? spec['ports'] : [];
  return ports.flatMap((port, index): readonly Problem[] => {
    if (!isMapping(port) || port['targetPort'] === undefined || port['targetPort'] === port['port']) return [];
    const path = ['ports', index, 'targetPort'];
    return [{ path, code: 'invalid', message: 'has no effect with type ExternalName: connections go to `port`' }];
  });
}

/** A DNS name; a dot may close it, as in zone files. */
const externalNameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?$/,
    'must be a lower-case host name without a port',
  );

const serviceSpecSchema = withFileRule(
  z
    .object({
      type: z
        .enum(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'])
        .default('ClusterIP')
        .describe(
          'ExternalName: connect to the DNS name `externalName`. All other types: connect to the EndpointSlices.',
        ),
      externalName: externalNameSchema.optional().describe('A DNS name to connect to, with type ExternalName.'),
      ports: z
        .array(servicePortSchema)
        .superRefine((ports, context) => {
          const names = new Set<string>();
          const numbers = new Set<string>();
          for (const [index, port] of ports.entries()) {
            if (ports.length > 1 && port.name === '')
              context.addIssue({
                code: 'custom',
                path: [index, 'name'],
                message: 'required when there are several ports',
                params: { code: 'required' },
              });
            else if (names.has(port.name))
              context.addIssue({ code: 'custom', path: [index, 'name'], message: 'must be unique' });
            const number = `${port.protocol} ${port.port}`;
            if (numbers.has(number))
              context.addIssue({ code: 'custom', path: [index, 'port'], message: 'must be unique for its protocol' });
            names.add(port.name);
            numbers.add(number);
          }
        })
        .default([])
        .describe('The ports.'),
      selector: refuse(
        z.record(labelKeySchema, labelValueSchema).optional(),
        'files have no pods to select: write an EndpointSlice with the label kubernetes.io/service-name, or use a ProxyBackend with a static target',
        { origin: 'file', unlessEmpty: true },
      ).describe('Selects pods, in Kubernetes.'),
      clusterIP: z.string().optional().describe(forKubernetes),
      clusterIPs: z.array(z.string()).optional().describe(forKubernetes),
      ipFamilies: z
        .array(z.enum(['IPv4', 'IPv6']))
        .optional()
        .describe(forKubernetes),
      ipFamilyPolicy: z.enum(['SingleStack', 'PreferDualStack', 'RequireDualStack']).optional().describe(forKubernetes),
      internalTrafficPolicy: notSupportedYet(z.enum(['Cluster', 'Local']).optional(), {
        origin: 'file',
        values: ['Local'],
      }).describe(forKubernetes),
      externalTrafficPolicy: z.enum(['Cluster', 'Local']).optional().describe(forKubernetes),
      sessionAffinity: notSupportedYet(z.enum(['None', 'ClientIP']).optional(), {
        origin: 'file',
        values: ['ClientIP'],
        instead: 'a ProxyBackend keeps MCP sessions on their endpoint',
      }).describe('None. The gateway does not support ClientIP.'),
      sessionAffinityConfig: notSupportedYet(z.unknown().optional(), { origin: 'file' }).describe(
        'For ClientIP affinity.',
      ),
      publishNotReadyAddresses: notSupportedYet(z.boolean().optional(), {
        origin: 'file',
        instead: 'set conditions.ready on the endpoints of the EndpointSlice',
      }).describe('For Kubernetes: sets the readiness of EndpointSlices.'),
      externalIPs: z.array(z.string()).optional().describe(forKubernetes),
      loadBalancerIP: z.string().optional().describe(forKubernetes),
      loadBalancerClass: z.string().optional().describe(forKubernetes),
      loadBalancerSourceRanges: notSupportedYet(z.array(z.string()).optional(), {
        origin: 'file',
        unlessEmpty: true,
      }).describe('For Kubernetes: restricts the load balancer.'),
      allocateLoadBalancerNodePorts: z.boolean().optional().describe(forKubernetes),
      healthCheckNodePort: z.int().optional().describe(forKubernetes),
      trafficDistribution: notSupportedYet(z.string().optional(), { origin: 'file' }).describe(
        'For Kubernetes: prefers near endpoints.',
      ),
    })
    .superRefine((spec, context) => {
      const external = spec.type === 'ExternalName';
      if (external && spec.externalName === undefined)
        context.addIssue({
          code: 'custom',
          path: ['externalName'],
          message: 'required with type ExternalName',
          params: { code: 'required' },
        });
      if (!external && spec.ports.length === 0 && spec.clusterIP !== 'None')
        context.addIssue({
          code: 'custom',
          path: ['ports'],
          message: 'required: at least one port',
          params: { code: 'required' },
        });
    }),
  'external-name',
  checkExternalName,
);

/** A Service. */
export const serviceSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata: namespacedMetadataSchema(serviceNameSchema),
  spec: serviceSpecSchema,
  status: statusSchema,
});

/** A parsed Service. */
export type Service = z.output<typeof serviceSchema>;
/** A parsed port of a Service. */
export type ServicePort = z.output<typeof servicePortSchema>;
