// The flags of `controller`, and what they come to: values that do not go together stop the start.
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import * as z from 'zod';
import { freeFormSchema } from '../api/free-form.ts';
import { namespaceNameSchema, objectNameSchema, serviceNameSchema } from '../api/kubernetes-names.ts';
import { type LabelSelector, labelSelectorSchema } from '../api/label-selector.ts';
import type { NetworkPolicySettings } from '../deploy/network-policy-settings.ts';
import {
  type CommandFlags,
  defineFlags,
  type FlagOrigin,
  type FlagOrigins,
  type FlagValues,
  formatFlagName,
} from './flags.ts';
import { readJsonFlag } from './json-flag.ts';
import { logFlags } from './log-flags.ts';
import { version } from '../base/version.ts';

const controllerFlagTable = defineFlags({
  namespace: {
    type: 'string',
    default: 'proxy-system',
    env: 'MCP_GATEHOUSE_NAMESPACE',
    placeholder: 'NAMESPACE',
    help: 'Where the controller is installed: its Lease and the seal keys are there',
  },
  serviceName: {
    type: 'string',
    default: 'proxy',
    env: 'MCP_GATEHOUSE_SERVICE_NAME',
    placeholder: 'NAME',
    help: "The controller's Service, by which gateways find it",
  },
  discoveryNamespaceSelectors: {
    type: 'string',
    env: 'MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS',
    placeholder: 'JSON',
    help: 'Look after namespaces that one of these label selectors selects, such as [{"matchLabels":{"gateways":"yes"}}]; all namespaces when absent or []',
  },
  gatewayClassParametersRefs: {
    type: 'string',
    env: 'MCP_GATEHOUSE_GATEWAY_CLASS_PARAMETERS_REFS',
    placeholder: 'JSON',
    help: 'The GatewayParameters of the class, such as {"proxy":{"name":"defaults","namespace":"proxy-system"}}',
  },
  imageRegistry: {
    type: 'string',
    default: '',
    env: 'MCP_GATEHOUSE_IMAGE_REGISTRY',
    placeholder: 'HOST',
    help: 'Where the image of gateways comes from; GatewayParameters may say otherwise',
  },
  imageRepository: {
    type: 'string',
    default: 'gateway',
    env: 'MCP_GATEHOUSE_IMAGE_REPOSITORY',
    help: 'The name of the image of gateways',
  },
  imageTag: {
    type: 'string',
    default: version,
    env: 'MCP_GATEHOUSE_IMAGE_TAG',
    help: 'The tag of the image of gateways',
  },
  imageDigest: {
    type: 'string',
    env: 'MCP_GATEHOUSE_IMAGE_DIGEST',
    placeholder: 'DIGEST',
    help: 'The digest of the image of gateways (sha256:...), in place of its tag',
  },
  imagePullPolicy: {
    type: 'enum',
    values: ['IfNotPresent', 'Always', 'Never'],
    default: 'IfNotPresent',
    env: 'MCP_GATEHOUSE_IMAGE_PULL_POLICY',
    help: 'When the image of gateways is pulled',
  },
  imagePullSecrets: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_IMAGE_PULL_SECRETS',
    placeholder: 'NAME',
    help: 'Secrets with which the image of gateways is pulled, in the namespaces of the Gateways',
  },
  networkPolicy: {
    type: 'string',
    env: 'MCP_GATEHOUSE_NETWORK_POLICY',
    placeholder: 'JSON',
    help: 'Deploy a NetworkPolicy with each gateway: the labels of the controller\'s pods, and peers, such as {"controller":{"app":"proxy"},"clients":[],"metrics":[],"upstreams":[]}',
  },
  secretsInNamespaces: {
    type: 'strings',
    env: 'MCP_GATEHOUSE_SECRETS_IN_NAMESPACES',
    placeholder: 'NAMESPACE',
    help: "Read Secrets in these namespaces and in the controller's own only; in all that are looked after when absent",
  },
  xdsPort: {
    type: 'port',
    default: 9978,
    env: 'MCP_GATEHOUSE_XDS_PORT',
    help: 'Port for gateways: xDS over gRPC',
  },
  healthPort: { type: 'port', default: 9093, env: 'MCP_GATEHOUSE_HEALTH_PORT', help: 'Port of /healthz and /readyz' },
  metricsPort: { type: 'port', default: 9092, env: 'MCP_GATEHOUSE_METRICS_PORT', help: 'Port of /metrics' },
  xdsTls: { type: 'boolean', env: 'MCP_GATEHOUSE_XDS_TLS', help: 'Serve xDS over TLS' },
  xdsTlsFolder: {
    type: 'string',
    default: '/etc/mcp-gateway/xds-tls',
    env: 'MCP_GATEHOUSE_XDS_TLS_FOLDER',
    placeholder: 'FOLDER',
    help: 'With --xds-tls: the folder with tls.crt, tls.key and ca.crt; replaced files take effect by themselves',
  },
  xdsTlsGenerate: {
    type: 'boolean',
    env: 'MCP_GATEHOUSE_XDS_TLS_GENERATE',
    help: 'With --xds-tls: make the Secret proxy-xds-cert when there is none, and renew it; it is read from the API server, not from a folder',
  },
  xdsTokenFile: {
    type: 'string',
    default: '/var/run/secrets/mcp-gateway/token',
    env: 'MCP_GATEHOUSE_XDS_TOKEN_FILE',
    placeholder: 'FILE',
    help: "The controller's own token for the audience proxy-xds, with which it talks to the replica that leads",
  },
  xdsVerifyPodAddress: {
    type: 'boolean',
    default: true,
    env: 'MCP_GATEHOUSE_XDS_VERIFY_POD_ADDRESS',
    help: 'Let gateways in whose connection does not come from an address of their pod, as with address translation in between',
  },
  podName: {
    type: 'string',
    env: 'MCP_GATEHOUSE_POD_NAME',
    placeholder: 'NAME',
    help: 'The name of this replica in the Lease; the host name when absent',
  },
  podAddress: {
    type: 'string',
    env: 'MCP_GATEHOUSE_POD_ADDRESS',
    placeholder: 'IP',
    help: 'Where the other replicas reach this one; without it they cannot tell it about the gateways that are connected to them',
  },
  kubeconfig: {
    type: 'string',
    env: 'MCP_GATEHOUSE_KUBECONFIG',
    placeholder: 'FILE',
    help: "A kubeconfig; otherwise KUBECONFIG, then the pod's ServiceAccount, then ~/.kube/config",
  },
  context: {
    type: 'string',
    env: 'MCP_GATEHOUSE_CONTEXT',
    placeholder: 'NAME',
    help: 'The context of the kubeconfig; its current one when absent',
  },
  inferenceExtension: {
    type: 'boolean',
    env: 'MCP_GATEHOUSE_INFERENCE_EXTENSION',
    help: 'Let HTTPRoutes name InferencePools as backends; InferencePools and Pods are read for it',
  },
  ...logFlags,
});

export const controllerCommandFlags: CommandFlags<typeof controllerFlagTable> = {
  name: 'controller',
  usage: '[flags]',
  summary: `Configures gateways on Kubernetes: watches Gateway API resources, ProxyPolicies and ProxyBackends, deploys a gateway for each Gateway of class
proxy, sends it its configuration over xDS, and writes what became of it into the status of the resources.`,
  flags: controllerFlagTable,
  commonFlags: [
    'namespace',
    'discoveryNamespaceSelectors',
    'gatewayClassParametersRefs',
    'imageRegistry',
    'imageTag',
    'xdsTls',
    'kubeconfig',
    'context',
    'inferenceExtension',
    'logLevel',
  ],
  examples: ['mcp-gatehouse controller --kubeconfig ~/.kube/config --log-format text'],
};

type FlagTexts = FlagValues<typeof controllerFlagTable>;

/** The GatewayParameters of the class. */
interface ClassParameters {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The settings of the controller, after validation. */
export interface ControllerSettings extends Omit<
  FlagTexts,
  'discoveryNamespaceSelectors' | 'gatewayClassParametersRefs' | 'networkPolicy' | 'podName'
> {
  readonly networkPolicy: NetworkPolicySettings | undefined;
  readonly namespaceSelectors: readonly LabelSelector[];
  readonly classParameters: ClassParameters | undefined;
  readonly podName: string;
}

const peersSchema = z
  .array(
    z.object({
      podSelector: freeFormSchema().optional(),
      namespaceSelector: freeFormSchema().optional(),
      ipBlock: freeFormSchema().optional(),
    }),
  )
  .max(64)
  .default([]);
const networkPolicySchema = z.object({
  controller: z.record(z.string(), z.string()).refine((labels) => Object.keys(labels).length > 0, {
    message: 'must have a label: it selects the pods of the controller',
  }),
  clients: peersSchema,
  metrics: peersSchema,
  upstreams: peersSchema,
});

const selectorsSchema = z.array(labelSelectorSchema).max(64);

const parametersReferenceSchema = z.object({
  group: z.enum(['gateway.proxy']).default('gateway.proxy'),
  kind: z.enum(['GatewayParameters']).default('GatewayParameters'),
  name: objectNameSchema,
  namespace: namespaceNameSchema,
});
const parametersReferencesSchema = z.object({ proxy: parametersReferenceSchema.optional() });

/** Checks what the types of flags cannot. One line for each mistake. */
export function checkControllerFlags(
  { discoveryNamespaceSelectors, gatewayClassParametersRefs, networkPolicy, ...values }: FlagTexts,
  origins: FlagOrigins<typeof controllerFlagTable>,
):
  | { readonly ok: true; readonly settings: ControllerSettings }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const nameOf = (key: keyof typeof controllerFlagTable): string => nameFlag(key, origins[key]);
  const problems = [...findPortProblems(values, nameOf), ...findNameProblems(values, nameOf)];
  if (values.podAddress !== undefined && isIP(values.podAddress) === 0)
    problems.push(`${nameOf('podAddress')} must be an IP address, not ${JSON.stringify(values.podAddress)}`);
  if (!values.xdsTls && origins.xdsTlsFolder === 'flag') problems.push('--xds-tls-folder goes with --xds-tls');
  if (values.xdsTlsGenerate && !values.xdsTls)
    problems.push(`${nameOf('xdsTlsGenerate')} goes with --xds-tls: without TLS there is no certificate to make`);
  if (values.xdsTlsGenerate && origins.xdsTlsFolder !== 'default')
    problems.push(
      `${nameOf('xdsTlsFolder')} and ${nameOf('xdsTlsGenerate')} exclude each other: a certificate that is made is read from its Secret`,
    );
  if (values.imageDigest !== undefined && !/^sha256:[a-f0-9]{64}$/.test(values.imageDigest))
    problems.push(
      `${nameOf('imageDigest')} must be sha256: and 64 hexadecimal digits, not ${JSON.stringify(values.imageDigest)}`,
    );
  for (const namespace of values.secretsInNamespaces)
    if (!namespaceNameSchema.safeParse(namespace).success)
      problems.push(`${nameOf('secretsInNamespaces')} must be names of namespaces, not ${JSON.stringify(namespace)}`);
  const isolation =
    networkPolicy === undefined
      ? { ok: true as const, value: undefined }
      : readJsonFlag(networkPolicySchema, networkPolicy, nameOf('networkPolicy'));
  if (!isolation.ok) problems.push(...isolation.problems);
  const selectors = readJsonFlag(
    selectorsSchema,
    discoveryNamespaceSelectors ?? '[]',
    nameOf('discoveryNamespaceSelectors'),
  );
  if (!selectors.ok) problems.push(...selectors.problems);
  const references = readClassParameters(gatewayClassParametersRefs ?? '{}', nameOf('gatewayClassParametersRefs'));
  if (!references.ok) problems.push(...references.problems);
  if (problems.length > 0 || !selectors.ok || !references.ok || !isolation.ok) return { ok: false, problems };
  return {
    ok: true,
    settings: {
      ...values,
      podName: values.podName ?? hostname(),
      namespaceSelectors: selectors.value,
      classParameters: references.value,
      networkPolicy: isolation.value,
    },
  };
}

function nameFlag(key: keyof typeof controllerFlagTable, origin: FlagOrigin): string {
  return origin === 'env' ? controllerFlagTable[key].env : formatFlagName(key);
}

function findPortProblems(
  values: Pick<FlagTexts, 'xdsPort' | 'healthPort' | 'metricsPort'>,
  nameOf: (key: keyof typeof controllerFlagTable) => string,
): string[] {
  const keys = ['xdsPort', 'healthPort', 'metricsPort'] as const;
  return keys.flatMap((left, index) =>
    keys
      .slice(index + 1)
      // 0 is any port that is free.
      .filter((right) => values[left] !== 0 && values[left] === values[right])
      .map((right) => `${nameOf(left)} and ${nameOf(right)} are both ${values[left]}: each needs a port of its own`),
  );
}

function findNameProblems(
  values: Pick<FlagTexts, 'namespace' | 'serviceName'>,
  nameOf: (key: keyof typeof controllerFlagTable) => string,
): string[] {
  const names = [
    ['namespace', namespaceNameSchema],
    ['serviceName', serviceNameSchema],
  ] as const;
  return names.flatMap(([key, schema]) =>
    schema.safeParse(values[key]).success
      ? []
      : [`${nameOf(key)} must be a name such as proxy-system, not ${JSON.stringify(values[key])}`],
  );
}

type ClassParametersResult =
  | { readonly ok: true; readonly value: ClassParameters | undefined }
  | { readonly ok: false; readonly problems: readonly string[] };

function readClassParameters(text: string, name: string): ClassParametersResult {
  const read = readJsonFlag(parametersReferencesSchema, text, name);
  if (read.ok) return { ok: true, value: read.value.proxy };
  const problems = read.problems.map((problem) => problem.replace(/ unknown field; valid here: proxy$/, otherClass));
  return { ok: false, problems };
}

const otherClass = ' is not a class of this controller: its only class is proxy';
