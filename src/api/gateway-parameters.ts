// GatewayParameters (gateway.proxy): what the controller deploys for a Gateway, and how.
// No field has a default here: parameters of the class and of the Gateway are merged first, and defaults fill the rest.
import * as z from 'zod';
import { parseIpNetwork } from '../base/ip-network.ts';
import { withRules } from './cel-rules.ts';
import { containerEnvironmentSchema } from './container-environment.ts';
import { containerImageSchema } from './container-image.ts';
import { containerResourcesSchema } from './container-resources.ts';
import { delegationSchema } from './delegation.ts';
import { deployOverlaysSchema } from './deploy-overlays.ts';
import { boundedDurationSchema } from './duration.ts';
import { gatewayStoreSchema } from './gateway-store.ts';
import { subdomainNameSchema } from './kubernetes-names.ts';
import { uniqueItems } from './list-rules.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import { annotationsSchema, podTemplateSchema } from './pod-template.ts';
import { proxyApiVersion } from './proxy-backend.ts';

const loggingSchema = z.object({
  level: z.enum(['trace', 'debug', 'info', 'warn', 'error']).optional().describe('The log level; info when absent.'),
  format: z.enum(['json', 'text']).optional().describe('The format of log lines; json when absent.'),
});

const serviceSchema = withRules(
  z.object({
    type: z
      .enum(['LoadBalancer', 'NodePort', 'ClusterIP'])
      .optional()
      .describe('How clients reach the pods; LoadBalancer when absent.'),
    annotations: annotationsSchema.optional().describe('Annotations of the Service, such as those of load balancers.'),
    externalTrafficPolicy: z
      .enum(['Cluster', 'Local'])
      .optional()
      .describe(
        'Local keeps the address of the client, and routes only to pods on the node that received the connection.',
      ),
    loadBalancerClass: z
      .string()
      .min(1)
      .max(316)
      .regex(
        /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/,
        'must be a domain, "/" and a name, such as example.com/internal',
      )
      .optional()
      .describe('The implementation of the load balancer. Kubernetes does not allow changing it later.'),
  }),
  [
    {
      cel: "!(has(self.type) && self.type == 'ClusterIP' && has(self.externalTrafficPolicy))",
      message: 'has no meaning with the type ClusterIP',
      path: ['externalTrafficPolicy'],
      holds: ({ type, externalTrafficPolicy }) => type !== 'ClusterIP' || externalTrafficPolicy === undefined,
    },
    {
      cel: "!(has(self.type) && self.type != 'LoadBalancer' && has(self.loadBalancerClass))",
      message: 'has a meaning only with the type LoadBalancer',
      path: ['loadBalancerClass'],
      holds: ({ type = 'LoadBalancer', loadBalancerClass }) =>
        type === 'LoadBalancer' || loadBalancerClass === undefined,
    },
  ],
);

const networkRule = 'must be a network such as 10.0.0.0/8 or 2001:db8::/32, with no bits set after the prefix';

const networkSchema = withRules(z.string().min(1).max(43), [
  {
    cel: 'isCIDR(self) && cidr(self) == cidr(self).masked()',
    message: networkRule,
    holds: (network) => network.includes('/') && parseIpNetwork(network) !== undefined,
  },
]);

const specFields = z.object({
  image: containerImageSchema.optional().describe('The image of the gateway.'),
  replicas: z
    .int()
    .min(0)
    .max(1000)
    .meta({ format: 'int32' })
    .optional()
    .describe(
      'The number of pods. When absent the controller does not manage it: one, until `kubectl scale` changes it.',
    ),
  resources: containerResourcesSchema.optional().describe('What the container needs, and may use at most.'),
  env: containerEnvironmentSchema
    .optional()
    .describe(
      'Environment variables of the gateway, for its other settings. The list replaces that of earlier parameters.',
    ),
  logging: loggingSchema.optional().describe('What the gateway logs.'),
  service: serviceSchema.optional().describe('The Service in front of the pods.'),
  podTemplate: podTemplateSchema.optional().describe('The pods.'),
  workers: z
    .int()
    .min(1)
    .max(64)
    .meta({ format: 'int32' })
    .optional()
    .describe(
      'Processes in a pod that share its ports; 1 when absent. Each needs a processor of its own to be useful.',
    ),
  trustedProxies: z
    .array(networkSchema)
    .max(64)
    .superRefine(uniqueItems)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .optional()
    .describe(
      'Networks of load balancers and proxies in front of the gateway, whose X-Forwarded-* headers are trusted; none when absent.',
    ),
  allowLocalUpstreams: z
    .boolean()
    .optional()
    .describe(
      'Allow servers and identity providers on loopback of the pod (a container beside the gateway), link-local and metadata addresses; refused when absent. Only parameters of a GatewayClass may set it. The gateway never connects to its own ports.',
    ),
  unprotectedRoutes: z
    .enum(['Allow', 'Deny'])
    .optional()
    .describe(
      'What becomes of rules that nothing protects; Allow when absent. Deny: they answer 403. Protected means Strict authentication on the rule or on each of its backends, or Optional authentication with rules that no request without a token can pass. A ProxyPolicy with traffic.publicAccess opens a route on purpose. Parameters of a Gateway cannot change the Deny of its class.',
    ),
  maxStaleness: boundedDurationSchema({ min: '10s', max: '168h' })
    .optional()
    .describe(
      'How long a pod may be without contact with a controller before it is stale: not ready, so that the Service sends it no more requests. When absent, pods serve their last configuration for any time. Parameters of a Gateway must not make it longer than those of a GatewayClass with `onStale: Close`.',
    ),
  onStale: z
    .enum(['Unready', 'Close'])
    .optional()
    .describe(
      'What a stale pod does: with Unready, which is meant when absent, it is not ready and serves whoever still reaches it. With Close it also answers every request with 503 and ends open streams. Parameters of a Gateway must not replace the Close of a GatewayClass.',
    ),
  store: gatewayStoreSchema
    .optional()
    .describe(
      'Where gateways keep logins that several of them have to know of; in the memory of each when absent. Only parameters of a GatewayClass may set it, because it names a Secret.',
    ),
  shutdown: z
    .object({
      drain: boundedDurationSchema({ min: '0s', max: '1h' })
        .optional()
        .describe('How long open streams may continue when a pod shuts down; 30s when absent.'),
    })
    .optional()
    .describe('How pods end.'),
  overlays: deployOverlaysSchema
    .optional()
    .describe(
      'Strategic merge patches over what is deployed, for what has no field of its own. They are applied last, in the order of the parameters. They cannot change the kind, the name, the namespace, the owner and the selector of an object. Only parameters of the GatewayClass may give pods other programs, more rights or access to Secrets.',
    ),
  delegation: delegationSchema
    .optional()
    .describe('What parameters of Gateways may ask for in addition. Only parameters of a GatewayClass may set it.'),
});

const specSchema = withRules(specFields, [
  {
    cel: '!has(self.onStale) || has(self.maxStaleness)',
    message: 'has a meaning only with maxStaleness, which says when a pod is stale',
    path: ['onStale'],
    holds: ({ onStale, maxStaleness }) => onStale === undefined || maxStaleness !== undefined,
  },
]);

/** A GatewayParameters. */
export const gatewayParametersSchema = z.object({
  apiVersion: z.literal(proxyApiVersion),
  kind: z.literal('GatewayParameters'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: specSchema.describe('What is deployed.'),
  status: statusSchema,
});

/** Parsed GatewayParameters. */
export type GatewayParameters = z.output<typeof gatewayParametersSchema>;
/** What they say. */
export type GatewayParametersSpec = z.output<typeof specSchema>;
