// Environment variables of a container (core EnvVar), without those that other fields stand for.
import * as z from 'zod';
import { oneOf, withRules } from './cel-rules.ts';
import { subdomainNameSchema } from './kubernetes-names.ts';
import { uniqueNames } from './list-rules.ts';

/** Variables of a gateway that have a field of their own. */
const fieldsOfVariables: Readonly<Record<string, string>> = {
  MCP_GATEHOUSE_LOG_LEVEL: 'logging.level',
  MCP_GATEHOUSE_LOG_FORMAT: 'logging.format',
  MCP_GATEHOUSE_DRAIN_TIMEOUT: 'shutdown.drain',
  MCP_GATEHOUSE_LOCAL_UPSTREAMS: 'allowLocalUpstreams',
  MCP_GATEHOUSE_MAX_STALENESS: 'maxStaleness',
  MCP_GATEHOUSE_ON_STALE: 'onStale',
  MCP_GATEHOUSE_STORE: 'store',
  MCP_GATEHOUSE_STORE_CA_FILE: 'store',
  MCP_GATEHOUSE_STORE_PASSWORD_FILE: 'store',
  MCP_GATEHOUSE_STORE_USERNAME: 'store',
  MCP_GATEHOUSE_TRUSTED_PROXIES: 'trustedProxies',
};

/** Variables by which the controller and the gateway find each other, and by which probes and scrapes find the gateway. */
const ownVariables: readonly string[] = [
  'MCP_GATEHOUSE_ADMIN_TOKEN_FILE',
  'MCP_GATEHOUSE_CONTROLLER',
  'MCP_GATEHOUSE_CONTROLLER_CA',
  'MCP_GATEHOUSE_CONTROLLER_TOKEN',
  'MCP_GATEHOUSE_GATEWAY',
  'MCP_GATEHOUSE_METRICS_PORT',
  'MCP_GATEHOUSE_NODE_ID',
  'MCP_GATEHOUSE_OBSERVABILITY_ADDRESS',
  'MCP_GATEHOUSE_READINESS_PORT',
  'MCP_GATEHOUSE_SHUTDOWN_DELAY',
  'MCP_GATEHOUSE_SNAPSHOT_FILE',
];

/** Names that `env` cannot have. */
export const reservedVariables: readonly string[] = [...Object.keys(fieldsOfVariables), ...ownVariables];

const keyReferenceSchema = z.object({
  name: subdomainNameSchema.describe("The object's name, in the Gateway's namespace."),
  key: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[-._a-zA-Z0-9]+$/, 'must be letters, digits, "-", "_" and "."')
    .describe('The entry in its data.'),
  optional: z.boolean().optional().describe('Start without the variable when the entry does not exist.'),
});

const fieldReferenceSchema = z.object({
  fieldPath: z
    .string()
    .min(1)
    .max(512)
    .regex(/^(metadata|spec|status)\./, "must be a field of the pod such as status.podIP or metadata.labels['app']")
    .describe('A field of the pod, such as status.podIP.'),
});

const valueFromSchema = withRules(
  z.object({
    secretKeyRef: keyReferenceSchema
      .optional()
      .describe('An entry of a Secret. Only in parameters of the GatewayClass.'),
    configMapKeyRef: keyReferenceSchema.optional().describe('An entry of a ConfigMap.'),
    fieldRef: fieldReferenceSchema.optional().describe('A field of the pod.'),
  }),
  [oneOf(['secretKeyRef', 'configMapKeyRef', 'fieldRef'])],
);

const variableSchema = withRules(
  z.object({
    name: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[-._a-zA-Z][-._a-zA-Z0-9]*$/, 'must be letters, digits, "_", "-" and ".", and not begin with a digit')
      .describe('The name of the variable.'),
    value: z.string().max(32_768).optional().describe('The value.'),
    valueFrom: valueFromSchema.optional().describe('Where the value comes from.'),
  }),
  [
    oneOf(['value', 'valueFrom']),
    ...Object.entries(fieldsOfVariables).map(([name, field]) => ({
      cel: `self.name != '${name}'`,
      message: `use spec.${field} instead`,
      path: ['name'],
      holds: (variable: { readonly name: string }) => variable.name !== name,
    })),
    {
      cel: "!self.name.startsWith('MCP_GATEWAY_')",
      message: 'variables of the gateway begin with MCP_GATEHOUSE_ now, not with MCP_GATEWAY_',
      path: ['name'],
      holds: ({ name }) => !name.startsWith('MCP_GATEWAY_'),
    },
    {
      cel: `!(self.name in ['${ownVariables.join("', '")}'])`,
      message: 'is set by the controller',
      path: ['name'],
      holds: ({ name }) => !ownVariables.includes(name),
    },
  ],
);

/** Environment variables. */
export const containerEnvironmentSchema = z
  .array(variableSchema)
  .max(64)
  .superRefine(uniqueNames)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });
