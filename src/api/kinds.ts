// The kinds that the gateway reads: their names in Kubernetes, and the one schema of each.
import type { z } from 'zod';
import { configMapSchema } from './config-map.ts';
import { endpointSliceSchema } from './endpoint-slice.ts';
import { gatewayClassSchema } from './gateway-class.ts';
import { gatewayParametersSchema } from './gateway-parameters.ts';
import { gatewaySchema } from './gateway.ts';
import { httpRouteSchema } from './http-route.ts';
import { inferenceGroup, inferencePoolSchema } from './inference-pool.ts';
import { namespaceSchema } from './namespace.ts';
import { podSchema } from './pod.ts';
import { proxyBackendSchema } from './proxy-backend.ts';
import { proxyPolicySchema } from './proxy-policy.ts';
import { proxyBackendStatusSchema, proxyPolicyStatusSchema } from './proxy-status.ts';
import { referenceGrantSchema } from './reference-grant.ts';
import { secretSchema } from './secret.ts';
import { serviceSchema } from './service.ts';

/** A column of `kubectl get`. */
interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'date' | 'integer';
  readonly jsonPath: string;
  readonly description?: string;
  /** 1: only with `-o wide`. */
  readonly priority?: number;
}

/** A part of the gateway that is off unless it is asked for, and kinds that are only read with it. */
export type Extension = 'inference';

/** What people call an extension, and the flag that switches it on for commands that read files. */
export const extensions: Readonly<Record<Extension, { readonly name: string; readonly flag: string }>> = {
  inference: { name: 'Inference Extension', flag: '--inference-extension' },
};

/** What Kubernetes and the parser need to know of a kind. */
export interface KindDefinition {
  /** Empty for the core group. */
  readonly group: string;
  /** Newest first. */
  readonly versions: readonly [string, ...string[]];
  readonly plural: string;
  readonly namespaced: boolean;
  readonly schema: z.ZodType;
  /** One sentence on what it is for. */
  readonly description: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly printerColumns: readonly PrinterColumn[];
  /** What the controller writes back; only for the kinds that this gateway defines. */
  readonly statusSchema?: z.ZodType;
  /** Only read with this extension; always when absent. */
  readonly extension?: Extension;
}

const gatewayApi = {
  group: 'gateway.networking.k8s.io',
  categories: ['gateway-api'],
  printerColumns: [],
} as const;
const core = { group: '', versions: ['v1'], shortNames: [], categories: [], printerColumns: [] } as const;
const own = { group: 'gateway.proxy', versions: ['v1alpha1'], namespaced: true, categories: ['gateway-api'] } as const;

const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Every kind, by name. */
export const kinds = {
  GatewayClass: {
    ...gatewayApi,
    versions: ['v1', 'v1beta1'],
    plural: 'gatewayclasses',
    shortNames: ['gc'],
    namespaced: false,
    schema: gatewayClassSchema,
    description: 'Which controller serves the Gateways that name it.',
  },
  Gateway: {
    ...gatewayApi,
    versions: ['v1', 'v1beta1'],
    plural: 'gateways',
    shortNames: ['gtw'],
    namespaced: true,
    schema: gatewaySchema,
    description: 'Where traffic comes in, and which routes may attach.',
  },
  HTTPRoute: {
    ...gatewayApi,
    versions: ['v1', 'v1beta1'],
    plural: 'httproutes',
    shortNames: [],
    namespaced: true,
    schema: httpRouteSchema,
    description: 'Which requests go where.',
  },
  ReferenceGrant: {
    ...gatewayApi,
    versions: ['v1', 'v1beta1'],
    plural: 'referencegrants',
    shortNames: ['refgrant'],
    namespaced: true,
    schema: referenceGrantSchema,
    description: 'Lets kinds of other namespaces refer to objects of this one.',
  },
  Service: {
    ...core,
    plural: 'services',
    namespaced: true,
    schema: serviceSchema,
    description: 'A name for the endpoints of EndpointSlices, or for a DNS name.',
  },
  EndpointSlice: {
    ...core,
    group: 'discovery.k8s.io',
    plural: 'endpointslices',
    namespaced: true,
    schema: endpointSliceSchema,
    description: 'The addresses behind a Service.',
  },
  Secret: {
    ...core,
    plural: 'secrets',
    namespaced: true,
    schema: secretSchema,
    description: 'Certificates, keys and credentials.',
  },
  ConfigMap: {
    ...core,
    plural: 'configmaps',
    namespaced: true,
    schema: configMapSchema,
    description: 'Certificate authorities.',
  },
  Namespace: {
    ...core,
    plural: 'namespaces',
    namespaced: false,
    schema: namespaceSchema,
    description: 'Labels for the namespace selectors of listeners.',
  },
  GatewayParameters: {
    ...own,
    plural: 'gatewayparameters',
    shortNames: ['gwp'],
    schema: gatewayParametersSchema,
    description: 'What the controller deploys for a Gateway, and how.',
    printerColumns: [
      { name: 'Image', type: 'string', jsonPath: '.spec.image.repository', description: 'The repository of the image' },
      { name: 'Tag', type: 'string', jsonPath: '.spec.image.tag', description: 'The tag of the image' },
      { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', description: 'How many pods' },
      {
        name: 'Service',
        type: 'string',
        jsonPath: '.spec.service.type',
        description: 'How clients reach the pods',
        priority: 1,
      },
      age,
    ],
  },
  ProxyBackend: {
    ...own,
    plural: 'proxybackends',
    shortNames: ['pbe'],
    schema: proxyBackendSchema,
    statusSchema: proxyBackendStatusSchema,
    description: 'An MCP server, or several as one, that routes can send requests to.',
    printerColumns: [
      { name: 'Target', type: 'string', jsonPath: '.spec.mcp.targets[*].name', description: 'The MCP servers' },
      {
        name: 'Accepted',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
        description: 'Whether the backend is valid',
      },
      {
        name: 'Resolved',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="ResolvedRefs")].status',
        description: 'Whether what it refers to was found',
        priority: 1,
      },
      age,
    ],
  },
  ProxyPolicy: {
    ...own,
    plural: 'proxypolicies',
    shortNames: ['pp'],
    schema: proxyPolicySchema,
    statusSchema: proxyPolicyStatusSchema,
    description: 'Authentication, authorization and CORS for what it targets.',
    printerColumns: [
      { name: 'Target Kind', type: 'string', jsonPath: '.spec.targetRefs[0].kind', description: 'What it targets' },
      { name: 'Target', type: 'string', jsonPath: '.spec.targetRefs[*].name', description: 'What it targets' },
      {
        name: 'Accepted',
        type: 'string',
        jsonPath: '.status.ancestors[*].conditions[?(@.type=="Accepted")].status',
        description: 'Whether the policy is valid',
      },
      {
        name: 'Programmed',
        type: 'string',
        jsonPath: '.status.ancestors[*].conditions[?(@.type=="Programmed")].status',
        description: 'Whether the gateways follow it',
      },
      age,
    ],
  },
  InferencePool: {
    group: inferenceGroup,
    versions: ['v1'],
    plural: 'inferencepools',
    shortNames: ['infpool'],
    categories: [],
    printerColumns: [],
    namespaced: true,
    schema: inferencePoolSchema,
    description: 'Pods that serve a model, and the endpoint picker that chooses among them.',
    extension: 'inference',
  },
  Pod: {
    ...core,
    plural: 'pods',
    namespaced: true,
    schema: podSchema,
    description: 'The endpoints of InferencePools.',
    extension: 'inference',
  },
} as const satisfies Readonly<Record<string, KindDefinition>>;

/** The name of a kind that the gateway reads. */
export type Kind = keyof typeof kinds;

/** A parsed resource of a kind. */
export type ResourceOf<K extends Kind> = z.output<(typeof kinds)[K]['schema']>;

/** The names of all kinds. */
export const kindNames = Object.keys(kinds) as readonly Kind[];

/** The names of the kinds that are read with these extensions, in the same order. */
export function listKinds(wanted: readonly Extension[]): readonly Kind[] {
  return kindNames.filter((kind) => {
    const extension = findExtension(kind);
    return extension === undefined || wanted.includes(extension);
  });
}

/** The extension that a kind is read with; undefined: it is always read. */
export function findExtension(kind: Kind): Extension | undefined {
  const { extension }: KindDefinition = kinds[kind];
  return extension;
}

/** Whether a name is that of a kind that the gateway reads. */
export function isKind(name: string): name is Kind {
  return Object.hasOwn(kinds, name);
}

/** The apiVersions that a kind is read in, newest first: `v1`, `gateway.networking.k8s.io/v1`. */
export function listApiVersions(kind: Kind): readonly string[] {
  const { group, versions }: KindDefinition = kinds[kind];
  return versions.map((version) => (group === '' ? version : `${group}/${version}`));
}

/** Kinds of the same world that are known, and not supported yet. */
export const kindsNotSupportedYet: Readonly<Record<string, string>> = {
  GRPCRoute: 'use an HTTPRoute',
  TLSRoute: 'use an HTTPRoute on an HTTPS listener',
  TCPRoute: 'use an HTTPRoute',
  UDPRoute: 'use an HTTPRoute',
  ListenerSet: "write the listeners into the Gateway's spec.listeners",
  XListenerSet: "write the listeners into the Gateway's spec.listeners",
  BackendTLSPolicy: 'use a ProxyBackend, whose targets have tls',
  XBackendTrafficPolicy: 'use a ProxyBackend, whose sessionRouting keeps sessions on their endpoint',
  Endpoints: 'use an EndpointSlice',
};
