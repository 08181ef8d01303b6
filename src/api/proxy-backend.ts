// ProxyBackend (gateway.proxy): an MCP server, or several as one, that routes can send requests to.
import { isIPv4, isIPv6 } from 'node:net';
import * as z from 'zod';
import { oneOf, withRules } from './cel-rules.ts';
import { caCertificateReferenceSchema } from './certificate-reference.ts';
import { boundedDurationSchema } from './duration.ts';
import { checkTargets, federatedTargetFields, federationFields, federationRules, targetRules } from './federation.ts';
import { preciseHostnameSchema } from './hostname.ts';
import {
  namespaceNameSchema,
  portNumberSchema,
  sectionNameSchema,
  serviceNameSchema,
  subdomainNameSchema,
} from './kubernetes-names.ts';
import { uniqueNames } from './list-rules.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';

/** The API group and version of this gateway's own kinds. */
export const proxyApiVersion = 'gateway.proxy/v1alpha1';

const hostRule = 'must be a lower-case host name or an IP address, without a scheme, port or brackets';

const hostSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$/, hostRule)
  .superRefine((host, context) => {
    const looksLikeAddress = host.includes(':') || /(^|\.)[0-9]+$/.test(host);
    if (looksLikeAddress && !isIPv4(host) && !isIPv6(host)) context.addIssue({ code: 'custom', message: hostRule });
  });

const pathSchema = z
  .string()
  .min(1)
  .max(1024)
  .regex(
    /^\/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$/,
    'must be a URL path that begins with "/", without a query or fragment',
  );

const endpointFields = {
  path: pathSchema
    .default('/mcp')
    .describe(
      'The path of the MCP endpoint. It replaces the path that the route matched; for SSE it is the path of the stream.',
    ),
  protocol: z
    .enum(['StreamableHTTP', 'SSE'])
    .default('StreamableHTTP')
    .describe('The MCP transport that the server speaks: StreamableHTTP, or the older SSE.'),
};

const staticSchema = z.object({
  host: hostSchema.describe('A host name or IP address.'),
  port: portNumberSchema.describe('The port.'),
  ...endpointFields,
});

const backendRefSchema = z.object({
  group: z.enum(['']).default('').describe('The core group, where Service lives.'),
  kind: z.enum(['Service']).default('Service').describe('Service.'),
  name: serviceNameSchema.describe("The Service's name."),
  namespace: namespaceNameSchema
    .optional()
    .describe("The Service's namespace; another one than the ProxyBackend's needs a ReferenceGrant there."),
  port: portNumberSchema.describe("The Service's port."),
  ...endpointFields,
});

const tlsSchema = withRules(
  z.object({
    sni: preciseHostnameSchema
      .optional()
      .describe('The name to ask for and to verify in the certificate; the host that is connected to when absent.'),
    caCertificateRef: caCertificateReferenceSchema
      .optional()
      .describe('The certificate authorities to trust; those of the system when absent.'),
    insecureSkipVerify: z.boolean().default(false).describe('Accept any certificate. Never outside of tests.'),
  }),
  [
    {
      cel: '!(self.insecureSkipVerify && has(self.caCertificateRef))',
      message: 'caCertificateRef has no effect with insecureSkipVerify; remove one of the two',
      holds: (tls) => !(tls.insecureSkipVerify && tls.caCertificateRef !== undefined),
    },
  ],
);

const targetSchema = withRules(
  z.object({
    name: sectionNameSchema.max(63).describe('Unique within the ProxyBackend; names the target in logs.'),
    static: staticSchema.optional().describe('A fixed address.'),
    backendRef: backendRefSchema
      .optional()
      .describe(
        'A Service; requests are balanced over its endpoints. Path and transport are set as for a static target.',
      ),
    ...federatedTargetFields,
    tls: tlsSchema
      .optional()
      .describe('Connect with TLS; plaintext when absent. `tls: {}` trusts the system and verifies the host.'),
  }),
  [oneOf(['static', 'backendRef'])],
);

const longest = '24h';

const timeoutsSchema = z.object({
  connect: boundedDurationSchema({ min: '1ms', max: '10m' })
    .default('10s')
    .describe('Until a connection is established, including TLS.'),
  request: boundedDurationSchema({ min: '0s', max: longest })
    .default('0s')
    .describe('From the request to the end of the response; 0s means none, which streams need.'),
  idle: boundedDurationSchema({ min: '0s', max: longest })
    .default('5m')
    .describe('The idle timeout: the longest silence before or during a response; 0s means none.'),
});

/** The time limits of a backend that says nothing about them. */
export const usualTimeouts = timeoutsSchema.parse({});

const mcpSchema = withRules(
  z
    .object({
      mode: federationFields.mode,
      targets: z
        .array(targetSchema)
        .min(1)
        .max(128)
        .superRefine(uniqueNames)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
        .describe('The MCP servers. Lists are in this order.'),
      names: federationFields.names,
      sessionRouting: z
        .enum(['Stateful', 'Stateless'])
        .default('Stateful')
        .describe('Stateful keeps a session (Mcp-Session-Id) on its endpoint; Stateless balances every request.'),
      failureMode: federationFields.failureMode,
      serverInfo: federationFields.serverInfo,
      timeouts: timeoutsSchema.prefault({}).describe('Time limits towards the targets.'),
    })
    .superRefine(checkTargets)
    .meta(targetRules),
  federationRules,
);

/** A ProxyBackend. */
export const proxyBackendSchema = z.object({
  apiVersion: z.literal(proxyApiVersion),
  kind: z.literal('ProxyBackend'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: z.object({ mcp: mcpSchema.describe('MCP servers.') }).describe('What the backend is.'),
  status: statusSchema,
});

/** A parsed ProxyBackend. */
export type ProxyBackend = z.output<typeof proxyBackendSchema>;
/** A parsed target of a ProxyBackend. */
export type McpTarget = z.output<typeof targetSchema>;
